// Limits of QOS and of associations, and what counts against them.
//
// Source: Slurm documentation, resource limits; its controller (acct_policy). A job is held back
// where what it asks for, added to what is in use under the same limit, is above it. Of the QOS of
// a job and of its partition, the first that has a limit decides; the associations above a user's
// own count one and all, but for what a QOS limits.
#pragma once

#include <array>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "evenhand/core/column.h"

namespace evenhand::slurm {

// What a limit is of, and whose use counts.
enum class LimitOf : std::uint8_t {
  kGroup,     // all of the QOS or association
  kUser,      // one user's in the QOS
  kAccount,   // one account's in the QOS
  kJob,       // the job alone
  kNode,      // the job, on each of its nodes
  kGroupRun,  // what runs, times the seconds that are left to it
  kUserRun,
  kAccountRun,
  kLeast,  // what a job must ask for at least
  kWall,   // the job's time limit
  kUnread  // a limit of which it is not known how far it is used
};
// Whether what runs counts with the time that is left to it.
constexpr bool is_run(LimitOf of) {
  return of == LimitOf::kGroupRun || of == LimitOf::kUserRun || of == LimitOf::kAccountRun;
}
inline constexpr std::size_t kLimitTables = 9;  // with a column a measure

// Limits of some rows. Measures: resources, then nodes, then jobs.
struct LimitRows {
  std::array<Column<double>, kLimitTables> of;   // rows x measures each; infinite, or empty: none
  Column<double> wall;                           // rows: seconds; infinite: none
  std::vector<std::vector<std::string>> unread;  // rows: what of their limits is not known
};

struct Limits {
  bool any = false;
  std::vector<std::string> measures;
  LimitRows qos, associations;
  Column<Id> partition_qos;             // partitions: kNoId: none
  Column<std::uint8_t> over_partition;  // QOS: it counts before that of the partition
  std::map<std::string, Id, std::less<>> association_of;  // by account[/user[/partition]]
  Column<Id> parent;  // associations: the one above; kNoId: none
};

// The first limit that holds a job back.
struct LimitHit {
  LimitOf of = LimitOf::kGroup;
  bool association = false;
  Id row = kNoId;  // of the QOS or association; kNoId: nothing holds it back
  Index measure = 0;
  double used = 0, asked = 0, most = 0;
};

// What a job takes of each measure, and for how many seconds at most.
struct Uses {
  Column<double> amounts, on_node;
  double seconds = 0;
};

// What a job falls under.
struct LimitedAs {
  Column<Id> qos;           // the first of which counts first
  Column<Id> associations;  // its own first, then those above
  Id user = kNoId, account = kNoId;
};

// What is in use, under each limit.
class LimitUse {
 public:
  void clear() { use_.clear(); }
  void add(const Limits& limits, const LimitedAs& as, const Uses& uses);
  LimitHit hit(const Limits& limits, const LimitedAs& as, const Uses& uses) const;

 private:
  // What is counted, of which row, of which user or account.
  using Key = std::array<Id, 3>;
  double used(const Key& key, std::size_t measure, bool run) const;

  std::map<Key, Column<double>> use_;  // measures, then the same times seconds
};

}  // namespace evenhand::slurm
