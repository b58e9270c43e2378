// Which jobs must go so that nodes can hold copies of a request: what each frees on each
// node, and what each node lacks for one copy more.
#pragma once

#include <span>
#include <vector>

#include "evenhand/core/column.h"

namespace evenhand {

// What jobs free, by node; jobs in ascending order.
class FreedByNode {
 public:
  FreedByNode(std::size_t nodes, std::size_t width)
      : jobs_(nodes), amounts_(nodes), width_(width) {}
  // Where to add what a job frees on a node.
  Amount* add(Id job, Id node);
  std::span<const Id> jobs(Id node) const { return jobs_[node]; }
  std::span<const Amount> amounts(Id node) const { return amounts_[node]; }
  // Is it enough, if all go?
  bool covers(Id node, std::span<const Amount> lacks) const;

 private:
  Column<Column<Id>> jobs_;
  Column<Column<Amount>> amounts_;
  std::size_t width_;
};

// Which copies could stand where once which jobs had gone.
struct SpreadNeed {
  struct Site {
    std::size_t first = 0, pieces = 0;  // of its jobs
    std::size_t first_lack = 0;
    Index levels = 0;
    bool must = false;  // its one level is needed, and does not count
    Id node = kNoId;    // which it is; kNoId: what the cluster shares, or it has no name
  };

  SpreadNeed() : SpreadNeed(0) {}
  explicit SpreadNeed(std::size_t row_width) : width(row_width) {}
  // jobs: those on the site, ascending; amounts: jobs x width; lacks: levels x width, none
  // less than the level before; up to 0: nothing lacks.
  void add(std::span<const Id> jobs, std::span<const Amount> amounts, std::span<const Amount> lacks,
           bool must = false, Id node = kNoId);

  std::size_t width;
  Index copies = 0;  // levels wanted
  std::vector<Site> sites;
  Column<Id> job;         // of a piece
  Column<Amount> amount;  // pieces x width
  Column<Amount> lack;    // levels x width
};

}  // namespace evenhand
