#include <algorithm>
#include <map>

#include "evenhand/core/poll.h"
#include "evenhand/policy/ytsaurus/planner.h"
#include "node_work.h"

namespace evenhand::ytsaurus {
namespace {

using Size = std::size_t;

// Room of every node that had a heartbeat: free, and with all that a stage may take.
struct Rooms {
  std::vector<Amount> free, preemptive, aggressive;  // one row a node
};

Rooms rooms_of(Desk& desk, const std::vector<Id>& nodes) {
  Rooms rooms;
  desk.groups.refresh_unheld(desk.state);  // as the last heartbeat cut them
  const Size width = desk.state.width();
  const auto append = [&](std::vector<Amount>& to, const Amount* room) {
    to.insert(to.end(), room, room + width);
  };
  for (const Id node : nodes) {
    NodeWork work(desk, node);
    append(rooms.free, work.room());
    for (const StageRule& rule : stage_rules(desk.settings, false)) {
      if (rule.stage != Stage::kPreemptive && rule.stage != Stage::kAggressive) continue;
      work.collect_eligible(rule);
      append(rule.stage == Stage::kPreemptive ? rooms.preemptive : rooms.aggressive,
             work.room_with_victims());
    }
  }
  return rooms;
}

struct Best {
  Index nodes = 0;
  Outcome barred = Outcome::kNoHeartbeat;
  bool fits = false;
  std::vector<Amount> missing;
};

class Finder {
 public:
  Finder(Desk& desk, const std::vector<Id>& nodes)
      : desk_(desk), nodes_(nodes), rooms_(rooms_of(desk, nodes)) {}

  // Where a request would come closest.
  const Best& best(Id request, Stage stage) {
    const LiveTable<RequestColumns>& q = desk_.state.requests();
    const bool anywhere = q.get(&RequestColumns::required_node, request, kNoId) == kNoId &&
                          q.list(&RequestColumns::node_tags, request).empty() &&
                          !desk_.settings.ssd_stages;
    // Requests that may run anywhere differ in their amounts only.
    const std::pair key{stage, anywhere ? desk_.shapes().of(request)
                                        : static_cast<Id>(desk_.shapes().size()) + request};
    const auto [found, fresh] = known_.try_emplace(key);
    if (fresh) found->second = search(request, stage);
    return found->second;
  }

 private:
  Best search(Id request, Stage stage) {
    const Size width = desk_.state.width();
    const std::vector<Amount>& rooms = stage == Stage::kRegular      ? rooms_.free
                                       : stage == Stage::kPreemptive ? rooms_.preemptive
                                                                     : rooms_.aggressive;
    const Amount* least_room = desk_.shapes().least_room(desk_.shapes().of(request));
    const std::vector<Amount>& total = desk_.inputs().total;
    Best best;
    best.missing.assign(width, 0);
    double least = 0;
    for (Size n = 0; n < nodes_.size(); ++n) {
      if (!desk_.state.schedulable(nodes_[n])) {
        if (best.nodes == 0) best.barred = Outcome::kNodeNotSchedulable;
        continue;
      }
      const Desk::Place place = desk_.why_not_on(request, nodes_[n]);
      if (place != Desk::Place::kAllowed) {
        if (best.nodes == 0)
          best.barred = place == Desk::Place::kOtherNode    ? Outcome::kWrongNode
                        : place == Desk::Place::kTagMissing ? Outcome::kWrongTags
                                                            : Outcome::kSsdOnly;
        continue;
      }
      double lack = 0;
      const Amount* room = rooms.data() + n * width;
      for (Size r = 0; r < width; ++r)
        if (least_room[r] > room[r])
          lack = std::max(lack, static_cast<double>(least_room[r] - room[r]) /
                                    static_cast<double>(std::max<Amount>(total[r], 1)));
      best.fits |= lack == 0;
      if (best.nodes++ == 0 || lack < least) {
        least = lack;
        for (Size r = 0; r < width; ++r)
          best.missing[r] = std::max<Amount>(least_room[r] - room[r], 0);
      }
    }
    return best;
  }

  Desk& desk_;
  const std::vector<Id>& nodes_;
  Rooms rooms_;
  std::map<std::pair<Stage, Id>, Best> known_;
};

}  // namespace

Refusals Planner::refusals() const {
  Desk& desk = *desk_;
  const Size width = desk.state.width();
  Finder finder(desk, nodes_);
  // Limits are repaired after the stages: until then they held requests back.
  std::vector<Id> repaired;
  for (const Decision& d : desk.decisions.rows())
    if (d.reason == Reason::kResourceLimitsViolated) repaired.push_back(d.slot);
  const auto lacked = [&](Id operation, Id request, bool preemptive, Amount* missing) {
    if (repaired.empty() || (preemptive && desk.settings.infinite_limits_overcommit)) return false;
    desk.lacking_limits(operation, desk.shapes().amounts(desk.shapes().of(request)), preemptive,
                        missing, repaired);
    return std::any_of(missing, missing + width, [](Amount a) { return a > 0; });
  };
  Refusals out;
  for (const Id q : desk.state.requests().in_order()) {
    if (desk.pending(q) == 0) continue;
    poll();
    const Id o = desk.state.operation_of_request(q);
    const Priority priority = desk.last.priority[static_cast<Size>(o)];
    const Stage widest = priority == Priority::kAggressive ? Stage::kAggressive
                         : priority == Priority::kNormal   ? Stage::kPreemptive
                                                           : Stage::kRegular;
    const Best& best = finder.best(q, widest);
    std::vector<Amount> missing(width, 0);
    Outcome rule = Outcome::kStageTaken;
    if (!desk.work().schedulable[static_cast<Size>(o)]) {
      rule = Outcome::kUnschedulable;
    } else if (!desk.queue(Stage::kRegular).contains(o)) {
      rule = Outcome::kGracefulWhileNormal;
    } else if (best.nodes == 0) {
      rule = best.barred;
    } else if (!desk.within_limits(o, desk.shapes().amounts(desk.shapes().of(q)),
                                   widest != Stage::kRegular)) {
      rule = Outcome::kLimitsOfOperationOrPool;
      desk.lacking_limits(o, desk.shapes().amounts(desk.shapes().of(q)), widest != Stage::kRegular,
                          missing.data());
    } else if (!best.fits) {
      rule = widest == Stage::kRegular ? Outcome::kNoFreeRoom : Outcome::kNoRoomEvenWithVictims;
      missing = best.missing;
    } else if (lacked(o, q, widest != Stage::kRegular, missing.data())) {
      rule = Outcome::kLimitsOfOperationOrPool;
    } else if (widest == Stage::kRegular) {
      rule = Outcome::kNoFreeRoom;  // there is some now, of victims that went after the stage
    } else if (std::ranges::none_of(nodes_, [&](Id n) {
                 return desk.memory.last_preemptive[static_cast<Size>(n)] == desk.state.now();
               })) {
      rule = Outcome::kBackoff;
    }
    out.request.push_back(q);
    out.rule.push_back(rule);
    out.nodes.push_back(best.nodes);
    out.missing.insert(out.missing.end(), missing.begin(), missing.end());
  }
  return out;
}

}  // namespace evenhand::ytsaurus
