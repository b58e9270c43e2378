// Hosts by what they hold once so many of their jobs have gone, and the best choice of all.
//
// A profile says how many parts of a job fit on a host once 0, 1, .. of its jobs have gone. Hosts
// with the same profile are a kind. How many parts all of them hold together, by victims, is a
// knapsack: of each kind no more hosts matter than there are victims.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "evenhand/core/column.h"

namespace evenhand::gridengine {

class HostKinds {
 public:
  using Profile = std::basic_string<char>;  // never less than before; by 0 .. most victims

  void begin(Id nodes, Index most);
  // Says what a host holds: exactly, or, but for what it holds without victims, no more than that.
  void put(Id node, const Profile& parts, bool exact);
  Id of(Id node) const { return kind_[node]; }  // kNoId: it never holds any

  // By victims, 0 .. most: parts on all hosts, or on all but one of a kind; at most, as guessed,
  // or for certain. Valid until the next put. O(kinds x most^3), once.
  const Column<Index>& best_without(Id kind, bool guesses);
  // With so many victims, at least one of them on a host of the kind: no more than this.
  Index through(Id kind, Index victims);
  // Hosts whose guesses the best choice of all but one goes through. None: it is certain.
  Column<Id> guessed(Id kind, Id without, Index victims);

 private:
  using Size = std::size_t;
  struct Kind {
    Profile parts;
    bool exact;
    Index count = 0;
    Column<Id> hosts;  // guesses only: those that are in it, or were
  };
  struct Step {  // of the knapsack: one host more
    Id kind;
    Column<Index> before;
  };

  void fill(Column<Index>& sum, Id without, bool guesses, std::vector<Step>* steps) const;

  Index most_ = 0;
  Column<Id> kind_;  // by node
  std::vector<Kind> kinds_;
  std::unordered_map<std::string, Size> number_;
  std::vector<Column<Index>> best_[2];  // by the kind that one is left out of, after none
  Column<Index> through_;
  Index through_victims_ = -1;
};

}  // namespace evenhand::gridengine
