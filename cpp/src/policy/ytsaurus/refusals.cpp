#include <algorithm>
#include <array>
#include <functional>
#include <map>

#include "evenhand/core/poll.h"
#include "evenhand/policy/ytsaurus/planner.h"
#include "node_work.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

// Room of every node that had a heartbeat: free, and with all that a stage may take.
struct Rooms {
  Column<Amount> free, preemptive, aggressive;  // one row a node
  // With what the pace spares, too; empty: it spares nothing.
  Column<Amount> preemptive_unpaced, aggressive_unpaced;
  // Nodes where something leaves for requests: by place among the nodes.
  std::map<Size, NodeWork> promising;
};

Rooms rooms_of(Workspace& workspace, const Column<Id>& nodes) {
  Rooms rooms;
  workspace.groups.refresh_unheld(workspace.state);  // as the last heartbeat cut them
  const Size width = workspace.state.width();
  // What this plan has started is no victim of it.
  Column<Id> fresh;
  for (const Decision& d : workspace.decisions.rows())
    if (d.action == Action::kStart) fresh.push_back(d.slot);
  std::ranges::sort(fresh);
  const auto append = [&](Column<Amount>& to, const Amount* room) {
    to.insert(to.end(), room, room + width);
  };
  for (Size place = 0; place < nodes.size(); ++place) {
    NodeWork work(workspace, nodes[place]);
    if (work.has_promises()) rooms.promising.emplace(place, work);
    append(rooms.free, work.room());
    for (const StageRule& rule : stage_rules(workspace.settings, false)) {
      if (rule.stage != Stage::kPreemptive && rule.stage != Stage::kAggressive) continue;
      work.collect_eligible(rule, fresh);
      append(rule.stage == Stage::kPreemptive ? rooms.preemptive : rooms.aggressive,
             work.room_with_victims());
      if (workspace.pace.on())
        append(
            rule.stage == Stage::kPreemptive ? rooms.preemptive_unpaced : rooms.aggressive_unpaced,
            work.room_with_spared());
    }
  }
  return rooms;
}

struct Best {
  Index nodes = 0;
  Outcome barred = Outcome::kNoHeartbeat;
  bool fits = false, fits_unpaced = false;
  bool fits_tried = false;  // where an attempt to preempt was made
  Column<Amount> missing;
};

class Finder {
 public:
  Finder(Workspace& workspace, const Column<Id>& nodes)
      : workspace_(workspace), nodes_(nodes), rooms_(rooms_of(workspace, nodes)) {}

  // Where a request would come closest.
  const Best& best(Id request, Stage stage) {
    const LiveTable<RequestColumns>& q = workspace_.state.requests();
    const bool anywhere = q.get(&RequestColumns::required_node, request, kNoId) == kNoId &&
                          q.list(&RequestColumns::node_tags, request).empty() &&
                          !workspace_.settings.ssd_stages && rooms_.promising.empty();
    // Requests that may run anywhere differ in their amounts only.
    const std::pair key{stage, anywhere ? workspace_.shapes().of(request)
                                        : static_cast<Id>(workspace_.shapes().size()) + request};
    const auto [found, fresh] = known_.try_emplace(key);
    if (fresh) found->second = search(request, stage);
    return found->second;
  }

 private:
  Best search(Id request, Stage stage) {
    const Size width = workspace_.state.width();
    const Column<Amount>& rooms = stage == Stage::kRegular      ? rooms_.free
                                  : stage == Stage::kPreemptive ? rooms_.preemptive
                                                                : rooms_.aggressive;
    const Column<Amount>& unpaced =
        stage == Stage::kPreemptive ? rooms_.preemptive_unpaced : rooms_.aggressive_unpaced;
    const Amount* least_room = workspace_.shapes().least_room(workspace_.shapes().of(request));
    const Column<Amount>& total = workspace_.inputs().total;
    Best best;
    best.missing.assign(width, 0);
    double least = 0;
    for (Size n = 0; n < nodes_.size(); ++n) {
      if (!workspace_.state.schedulable(nodes_[n])) {
        if (best.nodes == 0) best.barred = Outcome::kNodeNotSchedulable;
        continue;
      }
      const Workspace::Place place = workspace_.why_not_on(request, nodes_[n]);
      if (place != Workspace::Place::kAllowed) {
        if (best.nodes == 0)
          best.barred = place == Workspace::Place::kOtherNode    ? Outcome::kWrongNode
                        : place == Workspace::Place::kTagMissing ? Outcome::kWrongTags
                                                                 : Outcome::kSsdOnly;
        continue;
      }
      double lack = 0;
      const Amount* room = rooms.data() + n * width;
      std::array<Amount, kMaxResources> with{}, unspared{};
      const auto promising = rooms_.promising.find(n);
      if (promising != rooms_.promising.end()) {
        with = promising->second.with_promise(room, request);
        room = with.data();
      }
      for (Size r = 0; r < width; ++r)
        if (least_room[r] > room[r])
          lack = std::max(lack, static_cast<double>(least_room[r] - room[r]) /
                                    static_cast<double>(std::max<Amount>(total[r], 1)));
      best.fits |= lack == 0;
      best.fits_tried |=
          lack == 0 && workspace_.memory.last_preemptive[nodes_[n]] == workspace_.state.now();
      if (stage != Stage::kRegular && !unpaced.empty()) {
        const Amount* all = unpaced.row(n, width);
        if (promising != rooms_.promising.end()) {
          unspared = promising->second.with_promise(all, request);
          all = unspared.data();
        }
        best.fits_unpaced |= std::equal(least_room, least_room + width, all, std::less_equal<>());
      }
      if (best.nodes++ == 0 || lack < least) {
        least = lack;
        for (Size r = 0; r < width; ++r)
          best.missing[r] = std::max<Amount>(least_room[r] - room[r], 0);
      }
    }
    return best;
  }

  Workspace& workspace_;
  const Column<Id>& nodes_;
  Rooms rooms_;
  std::map<std::pair<Stage, Id>, Best> known_;
};

}  // namespace

Refusals Planner::refusals() const {
  Workspace& workspace = *workspace_;
  const Size width = workspace.state.width();
  Finder finder(workspace, nodes_);
  // Limits are repaired after the stages: until then they held requests back. What elements with
  // limits used more before the first repair, E x R:
  Column<Amount> gone;
  bool taken = false;  // a stage that takes victims has started something
  for (const Decision& d : workspace.decisions.rows()) {
    const bool starts = d.action == Action::kStart;
    if (d.reason == Reason::kResourceLimitsViolated && gone.empty())
      gone.assign(
          static_cast<Size>(workspace.pools() + workspace.state.operations().rows()) * width, 0);
    if (!gone.empty()) {
      const Amount* of = starts ? workspace.shapes().amounts(workspace.shapes().of(d.request))
                                : workspace.state.amounts(d.slot);
      for (Id e = workspace.limited_from(workspace.pools() + d.operation); e != kNoId;
           e = workspace.limited_above(e))
        for (Size r = 0; r < width; ++r)
          gone[static_cast<Size>(e) * width + r] += starts ? -of[r] : of[r];
    }
    taken |= starts && d.stage != Stage::kRegular;
  }
  const auto lacked = [&](Id operation, Id request, bool preemptive, Amount* missing) {
    if (gone.empty() || (preemptive && workspace.settings.infinite_limits_overcommit)) return false;
    workspace.lacking_limits(operation, workspace.shapes().amounts(workspace.shapes().of(request)),
                             preemptive, missing, gone);
    return std::any_of(missing, missing + width, [](Amount a) { return a > 0; });
  };
  Refusals out;
  for (const Id q : workspace.state.requests().in_order()) {
    if (workspace.pending(q) == 0) continue;
    poll();
    const Id o = workspace.state.operation_of_request(q);
    const Priority priority = workspace.last.priority[o];
    const Stage widest = priority == Priority::kAggressive ? Stage::kAggressive
                         : priority == Priority::kNormal   ? Stage::kPreemptive
                                                           : Stage::kRegular;
    const Best& best = finder.best(q, widest);
    Column<Amount> missing(width, 0);
    Outcome rule = Outcome::kStageTaken;
    if (!workspace.work().schedulable[o]) {
      rule = Outcome::kUnschedulable;
    } else if (!workspace.queue(Stage::kRegular).contains(o)) {
      rule = Outcome::kGracefulWhileNormal;
    } else if (best.nodes == 0) {
      rule = best.barred;
    } else if (!workspace.within_limits(o, workspace.shapes().amounts(workspace.shapes().of(q)),
                                        widest != Stage::kRegular)) {
      rule = Outcome::kLimitsOfOperationOrPool;
      workspace.lacking_limits(o, workspace.shapes().amounts(workspace.shapes().of(q)),
                               widest != Stage::kRegular, missing.data());
    } else if (!best.fits) {
      rule = widest == Stage::kRegular ? Outcome::kNoFreeRoom
             : best.fits_unpaced       ? Outcome::kVictimsSpared
                                       : Outcome::kNoRoomEvenWithVictims;
      missing = best.missing;
    } else if (lacked(o, q, widest != Stage::kRegular, missing.data())) {
      rule = Outcome::kLimitsOfOperationOrPool;
    } else if (widest == Stage::kRegular) {
      rule = Outcome::kNoFreeRoom;  // there is some now, of victims that went after the stage
    } else if (!best.fits_tried) {
      rule = Outcome::kBackoff;
    } else if (workspace.held_by_caps(q)) {
      rule = Outcome::kVictimsSpared;
    } else if (!taken) {
      rule = Outcome::kNoFreeRoom;  // likewise, of nodes that used more than they have
    }
    out.request.push_back(q);
    out.rule.push_back(rule);
    out.nodes.push_back(best.nodes);
    out.missing.insert(out.missing.end(), missing.begin(), missing.end());
  }
  return out;
}

}  // namespace evenhand::ytsaurus
