#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <vector>

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
  // What leaves for requests, by their operation: place among the nodes, in order.
  std::map<Id, std::vector<std::pair<Size, NodeWork::Promise>>> promises;
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
    for (const NodeWork::Promise& p : work.promises()) {
      const Id request = p.beneficiary.request;
      if (request < kNoId) continue;  // that has gone: the room is for none
      rooms.promises[request == kNoId ? p.beneficiary.operation : work.operation_of(request)]
          .emplace_back(place, p);
    }
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
  double lack = std::numeric_limits<double>::infinity();
  Size place = 0;  // of the first node that lacks least
  Column<Amount> missing;
};

class Finder {
 public:
  Finder(Workspace& workspace, const Column<Id>& nodes)
      : workspace_(workspace), nodes_(nodes), rooms_(rooms_of(workspace, nodes)) {}

  // Where a request would come closest.
  Best best(Id request, Stage stage) {
    Best best = without_promises(request, stage);
    const auto found = rooms_.promises.find(workspace_.state.operation_of_request(request));
    if (found == rooms_.promises.end()) return best;
    // More room makes a node lack less: only these can come before the best of all without.
    const auto& promises = found->second;
    for (Size i = 0; i < promises.size();) {
      const Size place = promises[i].first;
      NodeWork::Amounts sum{};
      bool any = false;
      for (; i < promises.size() && promises[i].first == place; ++i) {
        const NodeWork::Promise& p = promises[i].second;
        if (p.beneficiary.request != kNoId && p.beneficiary.request != request) continue;
        any = true;
        for (Size r = 0; r < workspace_.state.width(); ++r) sum[r] += p.amounts[r];
      }
      if (any && !barred(request, nodes_[place])) look_at(best, place, request, stage, sum);
    }
    return best;
  }

 private:
  const Best& without_promises(Id request, Stage stage) {
    const LiveTable<RequestColumns>& q = workspace_.state.requests();
    const bool anywhere = q.get(&RequestColumns::required_node, request, kNoId) == kNoId &&
                          q.list(&RequestColumns::node_tags, request).empty() &&
                          !workspace_.settings.ssd_stages;
    // Requests that may run anywhere differ in their amounts only.
    const std::pair key{stage, anywhere ? workspace_.shapes().of(request)
                                        : static_cast<Id>(workspace_.shapes().size()) + request};
    const auto [found, fresh] = known_.try_emplace(key);
    if (fresh) found->second = search(request, stage);
    return found->second;
  }

  Best search(Id request, Stage stage) {
    Best best;
    best.missing.assign(workspace_.state.width(), 0);
    for (Size n = 0; n < nodes_.size(); ++n) {
      if (const std::optional<Outcome> why = barred(request, nodes_[n])) {
        if (best.nodes == 0) best.barred = *why;
        continue;
      }
      ++best.nodes;
      look_at(best, n, request, stage, {});
    }
    return best;
  }

  // Why a request may not run on a node, whatever room it has.
  std::optional<Outcome> barred(Id request, Id node) {
    if (!workspace_.state.schedulable(node)) return Outcome::kNodeNotSchedulable;
    switch (workspace_.why_not_on(request, node)) {
      case Workspace::Place::kAllowed:
        return std::nullopt;
      case Workspace::Place::kOtherNode:
        return Outcome::kWrongNode;
      case Workspace::Place::kTagMissing:
        return Outcome::kWrongTags;
      default:
        return Outcome::kSsdOnly;
    }
  }

  // Lets a node count, with what leaves there for the request.
  void look_at(Best& best, Size n, Id request, Stage stage, const NodeWork::Amounts& promised) {
    const Size width = workspace_.state.width();
    const Column<Amount>& rooms = stage == Stage::kRegular      ? rooms_.free
                                  : stage == Stage::kPreemptive ? rooms_.preemptive
                                                                : rooms_.aggressive;
    const Column<Amount>& unpaced =
        stage == Stage::kPreemptive ? rooms_.preemptive_unpaced : rooms_.aggressive_unpaced;
    const Amount* wanted = workspace_.shapes().least_room(workspace_.shapes().of(request));
    const Column<Amount>& total = workspace_.inputs().total;
    const auto missing = [&](const Column<Amount>& of, Size r) {
      const Amount room = of[n * width + r] + promised[r];
      return wanted[r] > room ? wanted[r] - room : 0;
    };
    double lack = 0;
    bool fits_unpaced = stage != Stage::kRegular && !unpaced.empty();
    for (Size r = 0; r < width; ++r) {
      lack = std::max(lack, static_cast<double>(missing(rooms, r)) /
                                static_cast<double>(std::max<Amount>(total[r], 1)));
      fits_unpaced = fits_unpaced && missing(unpaced, r) == 0;
    }
    best.fits |= lack == 0;
    best.fits_unpaced |= fits_unpaced;
    best.fits_tried |=
        lack == 0 && workspace_.memory.last_preemptive[nodes_[n]] == workspace_.state.now();
    if (lack > best.lack || (lack == best.lack && n > best.place)) return;
    best.lack = lack;
    best.place = n;
    for (Size r = 0; r < width; ++r) best.missing[r] = missing(rooms, r);
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
    const Best best = finder.best(q, widest);
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
