// Settings of Backend.AI's scheduling and preemption, each difference between the
// proposal and the running system one field. Defaults are the preset "documented".
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "evenhand/model/cluster_state.h"
#include "evenhand/place/node_order.h"
#include "evenhand/preempt/pace.h"
#include "evenhand/preempt/victim_cost.h"
#include "evenhand/preempt/victims.h"

namespace evenhand::backendai {

enum class VictimOrder : std::uint8_t { kOldest, kNewest, kFewestSessions, kSmallestResources };
enum class PreemptionMode : std::uint8_t { kTerminate, kSuspend, kReschedule };

enum class Scope : std::uint8_t { kGroup, kDomain, kUser, kProject };
enum class Sequencer : std::uint8_t { kFifo, kLifo, kDominantShare };

struct Settings {
  PaceSettings pace;
  bool enabled = true;
  double threshold = 5;  // a victim's priority must not exceed it; infinite: no matter
  VictimOrder order = VictimOrder::kOldest;
  PreemptionMode mode = PreemptionMode::kTerminate;
  bool unsuited_are_terminated = true;  // else interactive and inference sessions are no victims
  bool keep_containers = false;         // of suspended sessions
  Time min_runtime = 0;
  bool every_session_preempts = false;  // else only the first of the queue
  bool per_agent = false;               // else victims are taken in one order over all nodes
  VictimSelection selection = VictimSelection::kIrreducible;
  Index minimum_budget = 20'000;
  VictimCost victim_cost = VictimCost::kVictims;  // of `minimum`
  NodeOrder agents = NodeOrder::kCanonical;       // concentrated: least free; dispersed: most free
  Column<Id> resource_order;                      // R: which is compared first among agents
  double default_priority = 10;
  bool rank_is_priority = true;
  Scope scope = Scope::kGroup;  // victims have the same as the session that asks
  bool inference_preemptible = true;
  Sequencer sequencer = Sequencer::kFifo;  // among equal priorities
  bool reserve_room = false;
  bool only_lack_blocks = false;  // a session that may run nowhere blocks no other
  Index max_containers = 0;       // 0: no cap
};

// What rows of operations set, and what follows from policies of users and projects.
struct RowSettings {
  static constexpr double kOwnOrDefault = std::numeric_limits<double>::quiet_NaN();
  static constexpr std::uint8_t kByKind = 2;

  Beside<double> priority = Absent(kOwnOrDefault);  // as the operation has it
  Beside<double> rank = Absent(0.0);  // which may preempt which, where it is not the priority
  Beside<Id> domain = Absent(kNoId);  // none
  Beside<std::uint8_t> preemptible = Absent(kByKind);      // it says nothing
  Beside<std::uint8_t> started = Absent(std::uint8_t{1});  // has ever run
  Beside<std::uint8_t> refused =
      Absent(std::uint8_t{0});  // or the Outcome that keeps it out of the queue
  Beside<Index> preemption_cost = Absent(Index{1});

  // Each column with its name, of one or of several of these at once.
  static void each(auto&& visit, auto&... of) {
    visit("priority", of.priority...);
    visit("rank", of.rank...);
    visit("domain", of.domain...);
    visit("preemptible", of.preemptible...);
    visit("started", of.started...);
    visit("refused", of.refused...);
    visit("preemption_cost", of.preemption_cost...);
  }
  // Settings of rows that came or changed, or are put without any.
  void put(std::span<const Id> rows, const RowSettings& cells) {
    each([&](const char*, auto& to, const auto& from) { to.put(rows, from); }, *this, cells);
  }
};

}  // namespace evenhand::backendai
