// Slot-wise suspension on one host: which of its jobs stops next, and which resumes.
#pragma once

#include <vector>

#include "evenhand/policy/gridengine/subordinates.h"

namespace evenhand::gridengine {

// What a job has in one queue instance of the host.
struct Task {
  Id operation;
  Id queue;
  Time start;  // of the job, whatever it was stopped for since
  Index rank;  // in canonical order
};

enum class TaskStatus : std::uint8_t { kOut, kRuns, kStopped, kBarred };

class HostTree {
 public:
  // status: by operation; what is out (leaves, was stopped by hand) counts nowhere, what is barred
  // does not resume.
  HostTree(const Subordinates& queues, const std::vector<Task>& tasks,
           const Column<TaskStatus>& status)
      : queues_(queues), tasks_(tasks), status_(status) {}

  // Jobs that run in a queue and below it. O(tasks x depth).
  Index running(Id node) const;
  // The job that stops next for a queue below which too many run; nullptr: none is below it.
  const Task* next_to_stop(Id node) const;
  // The job that resumes next in the tree of a root; nullptr: none may. O(tasks x depth).
  const Task* next_to_resume(Id root) const;

 private:
  template <class May>
  const Task* extreme(Id node, bool stop, May may) const;

  const Subordinates& queues_;
  const std::vector<Task>& tasks_;
  const Column<TaskStatus>& status_;
};

}  // namespace evenhand::gridengine
