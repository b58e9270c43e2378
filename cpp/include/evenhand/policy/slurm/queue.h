// Pending jobs in the order in which a run comes to them.
//
// Source: Slurm, main scheduling loop: what it sorts the queue by. Here turns stay in their order
// from run to run, and those of jobs that changed find their place anew, unless the order depends
// on the instant (ages), on room that is kept, or on what other QOS wait.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "evenhand/policy/slurm/workspace.h"

namespace evenhand::slurm {

class Queue {
 public:
  // The workspace is the caller's and outlives the queue.
  explicit Queue(const Workspace& workspace)
      : workspace_(workspace), kept_(Before{&workspace}), next_(kept_.end()) {}
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // As things are now, before a run. O(log n) for each job that changed; where the order does not
  // stay, O(n log n).
  void refresh(const Jobs::Changed& changed);

  // Those that were asked for so far, in order; `reaches` asks for one more place.
  const std::vector<Turn>& turns() const noexcept { return turns_; }
  bool reaches(std::size_t place) {
    while (place >= turns_.size() && next_ != kept_.end()) turns_.push_back((next_++)->turn);
    return place < turns_.size();
  }
  // Whether all turns are of partitions that are closed, by number, and wait for no instant.
  bool all_closed(const Column<Outcome>& closed) const noexcept;

 private:
  struct Entry {
    Turn turn;
    Time submitted;
    Index number;  // among the turns of the job
    bool expedited, timed;
  };
  struct Before {
    const Workspace* workspace;
    bool operator()(const Entry& a, const Entry& b) const noexcept;
  };
  using Kept = std::set<Entry, Before>;

  bool stays() const noexcept;
  bool waits(Id job) const noexcept;
  void turns_of(Id job, std::vector<Turn>& to) const;
  void sort();
  bool may_preempt(const Turn& turn, const Turn& other) const noexcept;
  void add(Id job);
  void remove(Id job);

  const Workspace& workspace_;
  std::vector<Turn> turns_;
  Kept kept_;
  Kept::const_iterator next_;                               // what `turns_` goes on with
  Column<Kept::const_iterator> first_;                      // by job; end: it does not wait
  std::map<Id, std::vector<Kept::const_iterator>> others_;  // of jobs with several turns
  Column<Index> waiting_;                                   // by partition: turns
  Index timed_ = 0;  // turns of jobs that are eligible from an instant
  bool all_ = true;  // none is kept
  std::vector<Turn> some_;
};

}  // namespace evenhand::slurm
