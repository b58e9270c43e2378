// Pace: which work is spared because it was preempted, started or ends too recently or soon, at
// which hours, and how many victims an hour a pool gives. The same for all systems, off by default.
//
// All spans are closed at their beginning and open at their end: a cooldown of T protects from the
// preemption until just before T has passed, a victim counts for just under an hour. Hours of the
// day are local time in the given zone. O(depth) a question.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "evenhand/core/beside.h"
#include "evenhand/model/cluster_state.h"
#include "evenhand/preempt/codes.h"
#include "evenhand/preempt/proof.h"

namespace evenhand {

inline constexpr Time kDay = 86'400 * kMicrosecondsPerSecond;
inline constexpr Time kHour = 3'600 * kMicrosecondsPerSecond;

struct PaceSettings {
  // Of a time zone: from which instants on its clocks are ahead of UTC by so much; the first holds
  // before, too.
  struct Zone {
    Column<Time> since, ahead;
  };
  // Every day from one time of the day until just before another; over midnight if that is less.
  struct Hours {
    Id pool;
    Time from, to;
    Id zone;
  };

  Time victim_cooldown = 0;         // 0: off
  Time spare_if_ran_less_than = 0;  // likewise
  Time spare_if_ends_within = 0;    // likewise
  Column<Index> most_victims;  // P: an hour, of all below it; -1: any number. Empty: none has one
  std::vector<Hours> immune_hours;  // of pools, and of all below them
  std::vector<Zone> zones;
};

// When victims were taken: of an operation the last time, of a pool with a cap those of the hour.
struct VictimTimes {
  Column<Id> element;  // pools, then operations
  Column<Time> time;
};

// Why work is spared, and what was compared.
struct Spared {
  Outcome why = Outcome::kTaken;  // kTaken: it is not
  Id pool = kNoId;                // that is immune, or has given its victims
  Time at = kNoTime;  // when it was preempted, began or ends; until when the pool is immune; when
                      // the oldest of its victims no longer counts
  Index victims = 0, most = 0;  // that the pool has given, and may give
};

class Pace {
 public:
  Pace() = default;
  Pace(PaceSettings settings, const ClusterState& state, const VictimTimes& before);

  bool on() const noexcept { return on_; }
  bool has_caps() const noexcept { return !windows_.empty(); }

  // A trigger comes. O(pools) where immunity begins or ends, O(1) for each victim that counts no
  // longer.
  void begin(const ClusterState& state);
  // From when on an answer that was given since `begin` may differ; kNoTime: it never does.
  Time due() const noexcept { return due_; }
  // Back to an earlier answer: what a recorder asks beside the plan calls for no other plan.
  void due_again(Time due) noexcept { due_ = due; }

  // Of work of an operation that began then, and is to end (kNoTime: unknown). If it is on.
  Spared spared(const ClusterState& state, Id operation, Time began, Time planned_end);
  Spared spared(const ClusterState& state, Id slot);  // an allocation
  // A victim of the operation is taken now.
  void took(const ClusterState& state, Id operation);
  // An operation came, in the place of another one or of none (kNoId).
  void come(Id operation, Id instead_of) { last_.come(operation, instead_of); }

  // The first place of `operations`, victims of one step in this order, from which on it and some
  // more are beyond the caps: places are added, with the pool at its cap.
  void beyond_caps(const ClusterState& state, std::span<const Id> operations,
                   std::vector<std::pair<Id, Spared>>& places) const;

  // What still counted at the last trigger, pools before operations, each in the order of time.
  VictimTimes memory(const ClusterState& state) const;

 private:
  // The victims of an hour of a pool that has a cap.
  struct Window {
    Id pool;
    Index most;
    Id above;  // in windows_: of the nearest pool above that has one; kNoId: none
    Column<Time> times{};
    std::size_t first = 0;  // that still counts
    Index count() const noexcept { return static_cast<Index>(times.size() - first); }
  };

  void watch(Time instant) noexcept {
    if (instant > now_ && (due_ == kNoTime || instant < due_)) due_ = instant;
  }
  Time ahead(const PaceSettings::Zone& zone, Time& until) const noexcept;
  bool inside(const PaceSettings::Hours& hours, Time& until) const noexcept;
  void find_immune(const ClusterState& state);
  Spared of_window(const Window& window) const noexcept;

  PaceSettings set_;
  bool on_ = false;
  Time now_ = kNoTime, due_ = kNoTime;
  Beside<Time> last_ = Absent(kNoTime);  // O
  std::vector<Window> windows_;
  Column<Id> window_of_;  // P: in windows_, of the nearest pool from it upwards; kNoId: none
  // P: the nearest pool from it upwards that is immune; kNoId: none. Empty: none has hours.
  Column<Id> immune_;
  Column<Time> immune_until_;                       // P: of those that are so by their own hours
  Time immune_from_ = kNoTime, changes_ = kNoTime;  // immune_ holds between these
};

// Choices of victims one after the other, each without those that the one before took beyond the
// caps: the first that stays within them counts.
//
// The least cost of the first choice, which no cap bound, is a lower bound of them all; what later
// ones prove holds without what was left out, and counts for nothing.
class WithinCaps {
 public:
  explicit WithinCaps(const Pace& pace) : pace_(&pace) {}

  // Notes a choice: victims and whose they are, in the order in which they are wanted. True:
  // choose again, without what `left_out` says.
  bool again(const ClusterState& state, std::span<const Id> victims, std::span<const Id> operations,
             const SelectionProof& proof);
  const std::vector<std::pair<Id, Spared>>& left_out() const noexcept { return left_out_; }
  const Spared* left_out(Id victim) const noexcept;
  // Of a budget, what is left for the next choice; at least 1.
  Index left(Index budget) const noexcept;
  // Of the last choice that was noted.
  const SelectionProof& proof() const noexcept { return proof_; }

 private:
  const Pace* pace_;
  std::vector<std::pair<Id, Spared>> left_out_, beyond_;
  SelectionProof proof_;
  bool first_ = true;
};

}  // namespace evenhand
