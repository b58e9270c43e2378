#include "evenhand/policy/slurm/run.h"

#include "run_work.h"

namespace evenhand::slurm {

Plan::Plan(RunInputs inputs)
    : inputs_(std::move(inputs)),
      width_(static_cast<Size>(inputs_.snapshot.tables().resource_count())) {
  Run run(inputs_, nullptr);
  run.all();
  decisions_ = std::move(run.decisions);
  counts_ = run.counts;
  refusals_ = std::move(run.refusals);
  contested_ = std::move(run.contested);
  memory_ = std::move(run.desk.memory);
  next_due_ = decisions_.rows().empty() ? run.next_due : inputs_.snapshot.tables().now;
}

std::vector<Event> Plan::trace(Id request, Id slot) const {
  Recorder recorder{request, slot, {}};
  Run(inputs_, &recorder).all();
  return std::move(recorder.events);
}

}  // namespace evenhand::slurm
