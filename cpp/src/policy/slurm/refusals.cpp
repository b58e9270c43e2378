#include "run_work.h"

namespace evenhand::slurm {
namespace {

// How far a job came: others leave for it, room was looked for, it was not looked at.
int reach(Outcome rule) {
  if (rule == Outcome::kWaitsForVictims) return 2;
  return may_wait_for_room(rule) ? 1 : 0;
}

}  // namespace

const Refusals& Run::refusals() {
  if (refusals_) return *refusals_;
  refusals_.emplace();
  report_refusals(kNoId);
  return *refusals_;
}

bool Run::report(Recorder& recorder) {
  const Id job = workspace.state.operation_of_request(recorder.request);
  if (marked(job).started) return false;
  std::optional<Refusals> all = std::exchange(refusals_, Refusals{});
  recorder_ = &recorder;
  report_refusals(job);
  recorder_ = nullptr;
  refusals_ = std::move(all);
  return true;
}

// Of all jobs that wait, or of one.
void Run::report_refusals(Id only) {
  look_at_rest();
  // Of several turns of a job the first that came furthest is reported.
  Column<Index> reported(marks_.size(), -1);
  for (Size i = 0; i < rules_.size(); ++i) {
    if (marked(queue_.turns()[i].job).started) continue;
    Index& best = reported[queue_.turns()[i].job];
    if (best < 0 || reach(rules_[i]) > reach(rules_[best])) best = static_cast<Index>(i);
  }
  for (Size i = 0; i < rules_.size(); ++i) {
    const Turn turn = queue_.turns()[i];
    if (reported[turn.job] != static_cast<Index>(i) || (only != kNoId && turn.job != only))
      continue;
    use_partition_of(turn);
    const Outcome rule = rules_[i];
    const bool placed = rule != Outcome::kNotEligibleYet && rule != Outcome::kPartitionDown &&
                        rule != Outcome::kLimitReached;
    std::optional<JobRequest> job_request;
    if (placed) job_request = workspace.job_request(turn.job);
    report_refusal(turn.job, rule, placed ? &*job_request : nullptr);
  }
  stand_back();
}

// Jobs that something leaves for since an earlier run, and that no pass came to place.
void Run::add_unheld() {
  Column<std::uint8_t> awaits(marks_.size(), 0);
  for (const Leaving& l : workspace.state.leaving())
    if (l.beneficiary.operation >= 0) awaits[l.beneficiary.operation] = 1;
  for (Size i = 0; i < rules_.size(); ++i) {
    const Id job = queue_.turns()[i].job;
    if (!awaits[job] || marked(job).started || holds(job)) continue;
    use_partition_of(queue_.turns()[i]);
    Occupancy room = workspace.room;
    workspace.add_leaving(room, job);
    std::vector<Spot> spots;
    if (workspace.job_request(job).place(room, spots)) held_.push_back({job, spots});
  }
}

// Which jobs that others leave for may find their room taken: by one that waits before them, or by
// another one of this run that counts on the same room.
const Contested& Run::contested() {
  constexpr Index kMostTried = 20;
  if (contested_) return *contested_;
  contested_.emplace();
  look_at_rest();
  add_unheld();
  Occupancy all = workspace.room;
  for (const Held& held : held_) workspace.add_leaving(all, held.job);
  for (const Index i : gone_) workspace.give(all, of(i), 1);
  Column<Id> counts_on(blocked_.size(), kNoId);  // N: the first that does
  const auto name = [this](Id beneficiary, Id other) {
    contested_->beneficiary.push_back(beneficiary);
    contested_->earlier.push_back(other);
  };
  Occupancy left = all;
  for (const Held& held : held_)
    for (const Spot& spot : held.spots)
      if (spot.node != kNoId) left.rooms.take(workspace.amounts(spot.request), spot.node);
  const auto short_of = [&](Id node) {
    for (Size r = 0; r < workspace.state.width(); ++r)
      if (left.rooms.at(node, r) < 0) return true;
    return false;
  };
  for (const Begun& begun : begun_)
    for (const Spot& spot : spots_of(begun))
      if (spot.node != kNoId) counts_on[spot.node] = begun.job;
  for (const Held& held : held_) {
    Id other = kNoId;
    for (const Spot& spot : held.spots) {
      if (spot.node == kNoId || !short_of(spot.node)) continue;
      if (counts_on[spot.node] != kNoId) other = counts_on[spot.node];
      counts_on[spot.node] = held.job;
    }
    Index tried = 0;
    for (Size i = 0; other == kNoId && i < rules_.size() && tried < kMostTried; ++i) {
      const Turn turn = queue_.turns()[i];
      if (turn.job == held.job) break;
      if (marked(turn.job).started || reach(rules_[i]) != 1) continue;
      use_partition_of(turn);
      bool near = false;
      for (const Id request : workspace.state.requests_of(turn.job)) {
        for (const Spot& spot : held.spots)
          near |= spot.node != kNoId && workspace.barred(request, spot.node) == Outcome::kStarted &&
                  all.rooms.fits(workspace.amounts(request), spot.node);
      }
      if (!near) continue;
      ++tried;
      const JobRequest job_request = workspace.job_request(turn.job);
      std::vector<Spot> spots;
      if (!job_request.place(all, spots)) continue;
      for (const Spot& spot : spots)
        for (const Spot& mine : held.spots)
          if (spot.node != kNoId && spot.node == mine.node) other = turn.job;
    }
    if (other != kNoId) name(held.job, other);
  }
  stand_back();
  return *contested_;
}

// What a node lacks for amounts, R; true if anything. Of a node that is not shared: all that the
// job wants there, or all that others have there.
bool Run::lacks(const Occupancy& room, const Amount* need, Id node, bool whole,
                Row& missing) const {
  const bool lack = room.rooms.lacks(need, node, missing.data());
  if (node == kNoId) return lack;
  if (!in_use(room, node, whole)) return lack;
  const bool taken = room.exclusives[node] > 0;
  const Amount* has = workspace.state.node_capacity(node);
  for (Size r = 0; r < workspace.state.width(); ++r)
    if (workspace.scope(r) == ResourceScope::kNode)
      missing[r] = std::max(missing[r], taken ? need[r] : has[r] - room.rooms.at(node, r));
  return true;
}

// As if nothing were reserved for others than a job.
Occupancy Run::without_reservations(Id job) const {
  Occupancy room = workspace.room;
  Column<std::uint8_t> waits(marks_.size(), 0);
  for (const Turn& turn : queue_.turns())
    waits[turn.job] = turn.job != job && !marked(turn.job).started;
  evenhand::add_reserved(room.rooms, workspace.state, 1,
                         [&](Id owner) { return owner == kNoId || waits[owner] != 0; });
  return room;
}

// Room once all has gone that may be preempted for a job and gives it anything, and what leaves for
// it. Of QOS only those end, or only those are suspended: the latter if none ends.
Occupancy Run::without_victims(Id job) const {
  Occupancy room = workspace.room;
  workspace.add_leaving(room, job);
  const Time due = workspace.pace.due();
  const Column<Index> candidates = workspace.candidates(job);
  workspace.pace.due_again(due);
  const auto suspends = [this](Index i) { return workspace.mode(of(i)) == PreemptMode::kSuspend; };
  const bool gang = set().gang && set().selection != Selection::kTestOnly;
  const bool shared = gang && (set().type == PreemptType::kPartitionPrio ||
                               std::ranges::all_of(candidates, suspends));
  for (const Index i : candidates)
    if (shared || !suspends(i)) workspace.give(room, of(i), 1);
  return room;
}

// What lacks to a request on a node of a room: what it has there too little of, and licences.
double Run::lacking(const Occupancy& room, const JobRequest& job_request,
                    const JobRequest::Part& part, const Row& licences, Id node,
                    Row& missing) const {
  missing = {};
  lacks(room, part.amounts, node, job_request.whole_nodes(), missing);
  const Amount* has = workspace.state.node_capacity(node);
  double worst = 0;
  for (Size r = 0; r < workspace.state.width(); ++r) {
    if (workspace.scope(r) == ResourceScope::kCluster) {
      missing[r] = licences[r];
    } else if (missing[r] > 0) {
      const Amount whole = part.amounts[r] > 0 ? part.amounts[r] : has[r];
      worst = std::max(worst, static_cast<double>(missing[r]) / static_cast<double>(whole));
    }
  }
  return worst;
}

// What a request lacks on the nodes where it may run, and licences of all of its job, which are
// reported where they are wanted or what it waits for.
Run::Lack Run::lack(const Occupancy& room, const JobRequest& job_request,
                    const JobRequest::Part& part, Outcome rule) const {
  Lack found;
  for (Size r = 0; r < workspace.state.width(); ++r) {
    if (workspace.scope(r) != ResourceScope::kCluster || job_request.licences()[r] <= 0) continue;
    if (part.amounts[r] <= 0 && rule != Outcome::kLicensesMissing) continue;
    found.licences[r] = std::max<Amount>(job_request.licences()[r] - room.rooms.at(kNoId, r), 0);
    found.no_licence |= found.licences[r] > 0;
  }
  found.best = found.short_of = found.licences;
  if (!part.takes_node) return found;
  double least = 0, least_short = 0;
  for (const Id node : jobs().nodes()) {
    if (!part.allowed()[node]) continue;
    Row missing{};
    const double worst = lacking(room, job_request, part, found.licences, node, missing);
    if (found.nodes++ == 0 || worst < least) {
      least = worst;
      found.best = missing;
    }
    if (worst <= 0 && !in_use(room, node, job_request.whole_nodes())) {
      ++found.with_room;
    } else if (least_short <= 0 || worst < least_short) {
      least_short = worst;
      found.short_of = missing;
      found.node = node;
    }
  }
  return found;
}

// Why one request of a job waits, of which a rule is said: what it does not lack itself another
// request of the job does.
Outcome Run::of_request(Outcome rule, const JobRequest& job_request, const JobRequest::Part& part,
                        const Lack& found) const {
  const Id job = workspace.state.operation_of_request(part.request);
  const auto of = [&](Outcome own) {
    return own == Outcome::kStarted ? Outcome::kOtherRequestWaits : own;
  };
  switch (rule) {
    case Outcome::kWrongTags:
    case Outcome::kNodeOutsidePartition:
    case Outcome::kNodeNotSchedulable:
      if (!part.takes_node) return Outcome::kOtherRequestWaits;
      if (std::ranges::none_of(part.allowed(), std::identity{}))
        return barred_everywhere(job, part.request);
      return of(beyond_nodes(part));
    case Outcome::kNoRoomEvenWithVictims:
      if (job_request.parts().size() == 1 || found.no_licence ||
          (part.takes_node && found.with_room < part.count))
        return rule;
      return Outcome::kOtherRequestWaits;
    default:
      return rule;
  }
}

// Of all its requests; with what lacks on the best of the nodes, and of licences: as things are,
// or, where all that may be preempted is not enough, without that.
void Run::report_refusal(Id job, Outcome rule, const JobRequest* job_request) {
  const Size width = workspace.state.width();
  Spared spared;
  if (!held_by_pace_.empty() &&
      (rule == Outcome::kNoEligibleVictims || rule == Outcome::kNoRoomEvenWithVictims))
    spared = held_by_pace_[job];
  if (spared.why != Outcome::kTaken) rule = Outcome::kVictimsSpared;
  add_reserved(workspace.room, job, 1);
  std::optional<Occupancy> room;  // without victims
  if (job_request != nullptr && rule == Outcome::kNoRoomEvenWithVictims) {
    room = without_victims(job);
    // It fits but for nodes that jobs before it have, or on which something is still ending.
    if (job_request->place(*room, spots_)) {
      rule = Outcome::kWaitsForNextPass;
      room.reset();
    }
  }
  for (const Id request : workspace.requests(job)) {
    if (workspace.state.pending(request) <= 0) continue;
    refusals_->request.push_back(request);
    const JobRequest::Part* part = nullptr;
    if (job_request != nullptr)
      for (const JobRequest::Part& p : job_request->parts())
        if (p.request == request) part = &p;
    Lack found;
    Outcome own = rule;
    if (part != nullptr) {
      found = lack(room ? *room : workspace.room, *job_request, *part, rule);
      own = of_request(rule, *job_request, *part, found);
    }
    refusals_->rule.push_back(own);
    refusals_->nodes.push_back(found.nodes);
    refusals_->missing.insert(refusals_->missing.end(), found.best.begin(),
                              found.best.begin() + static_cast<std::ptrdiff_t>(width));
    if (follows_request(request)) {
      note_refusal(own, rule, job_request, part, room ? *room : workspace.room, found,
                   room.has_value());
      recorder_->events.back().spared = spared;
      if (part != nullptr && part->takes_node) note_nodes(*job_request, *part, rule);
    }
  }
  add_reserved(workspace.room, job, -1);
}

// What lacks to a request on a node: room there, or licences.
Outcome Run::on_node(const JobRequest& job_request, const JobRequest::Part& part, Id node,
                     bool lack) const {
  if (!lack) return Outcome::kLicensesMissing;
  if (in_use(workspace.room, node, job_request.whole_nodes())) return Outcome::kWholeNodeInUse;
  return without_reservations(workspace.state.operation_of_request(part.request))
                 .rooms.fits(part.amounts, node)
             ? Outcome::kReservedForOthers
             : Outcome::kNoFreeRoom;
}

// Why a request may run nowhere: of one node that it names, else what it meets last.
Outcome Run::barred_everywhere(Id job, Id request) const {
  constexpr std::array kOrder{Outcome::kPartitionWithoutNodes, Outcome::kWrongNode,
                              Outcome::kWrongTags, Outcome::kNodeNotSchedulable, Outcome::kStarted};
  if (jobs().nodes().empty()) return Outcome::kNoNodes;
  const auto place = [&](Outcome o) { return std::ranges::find(kOrder, o); };
  const std::span<const std::uint8_t> inside = jobs().on_nodes(jobs().partition[job]);
  Outcome found = Outcome::kPartitionWithoutNodes;
  for (Size n = 0; n < blocked_.size(); ++n) {
    if (!inside[n]) continue;
    const Outcome here = workspace.barred(request, static_cast<Id>(n));
    if (place(here) > place(found)) found = here;
  }
  if (found == Outcome::kWrongNode) return Outcome::kNodeOutsidePartition;
  return found == Outcome::kStarted ? Outcome::kBehindFirstWaiting : found;
}

// Whether a node has what a part takes of it, if nothing else runs.
bool Run::could_hold(const JobRequest::Part& part, Id node) const {
  const Amount* has = workspace.state.node_capacity(node);
  for (Size r = 0; r < workspace.state.width(); ++r)
    if (workspace.scope(r) == ResourceScope::kNode && part.amounts[r] > has[r]) return false;
  return true;
}

// Whether a job would not fit if nothing else ran: on nodes that take work, or on any.
Outcome Run::beyond_nodes(const JobRequest& job_request) const {
  for (const JobRequest::Part& part : job_request.parts())
    if (const Outcome never = beyond_nodes(part); never != Outcome::kStarted) return never;
  return Outcome::kStarted;
}

Outcome Run::beyond_nodes(const JobRequest::Part& part) const {
  if (!part.takes_node) return Outcome::kStarted;
  Index open = 0, all = 0;
  const View<const std::uint8_t> allowed = part.allowed();
  for (Id n = 0; open < part.count && n < allowed.rows(); ++n)
    open += allowed[n] != 0 && could_hold(part, n);
  if (open >= part.count) return Outcome::kStarted;
  for (Id n = 0; n < static_cast<Id>(blocked_.size()); ++n) {
    const Outcome here = workspace.barred(part.request, n);
    if (here == Outcome::kStarted || here == Outcome::kNodeNotSchedulable)
      all += could_hold(part, n);
  }
  return all < part.count ? Outcome::kLargerThanNodes : Outcome::kNodeNotSchedulable;
}

}  // namespace evenhand::slurm
