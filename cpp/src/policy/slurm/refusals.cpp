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
    if (reported[turn.job] != static_cast<Index>(i)) continue;
    use_partition_of(turn);
    const Outcome rule = rules_[i];
    const bool placed = rule != Outcome::kNotEligibleYet && rule != Outcome::kPartitionDown;
    std::optional<JobRequest> job_request;
    if (placed) job_request = workspace.job_request(turn.job);
    report_refusal(turn.job, rule, placed ? &*job_request : nullptr);
  }
  stand_back();
  return *refusals_;
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

// Of all its requests; with what lacks on the best of the nodes, and of licences.
void Run::report_refusal(Id job, Outcome rule, const JobRequest* job_request) {
  const Size width = workspace.state.width();
  Spared spared;
  if (!held_by_pace_.empty() &&
      (rule == Outcome::kNoEligibleVictims || rule == Outcome::kNoRoomEvenWithVictims))
    spared = held_by_pace_[job];
  if (spared.why != Outcome::kTaken) rule = Outcome::kVictimsSpared;
  add_reserved(workspace.room, job, 1);
  for (const Id request : workspace.requests(job)) {
    if (workspace.state.pending(request) <= 0) continue;
    refusals_->request.push_back(request);
    refusals_->rule.push_back(rule);
    const JobRequest::Part* part = nullptr;
    if (job_request != nullptr)
      for (const JobRequest::Part& p : job_request->parts())
        if (p.request == request) part = &p;
    Row licences{};  // of all of the job, reported where they are wanted or what it waits for
    bool licences_lack = false;
    for (Size r = 0; part != nullptr && r < width; ++r) {
      if (workspace.scope(r) != ResourceScope::kCluster) continue;
      if (job_request->licences()[r] <= 0 ||
          (part->amounts[r] <= 0 && rule != Outcome::kLicensesMissing))
        continue;
      licences[r] =
          std::max<Amount>(job_request->licences()[r] - workspace.room.rooms.at(kNoId, r), 0);
      licences_lack |= licences[r] > 0;
    }
    Index nodes = 0;
    Row best = licences;
    double least = 0;
    if (part != nullptr && part->takes_node)
      for (const Id node : jobs().nodes()) {
        if (!part->allowed()[node]) continue;
        Row missing{};
        lacks(workspace.room, part->amounts, node, job_request->whole_nodes(), missing);
        const Amount* has = workspace.state.node_capacity(node);
        double worst = 0;
        for (Size r = 0; r < width; ++r) {
          if (workspace.scope(r) == ResourceScope::kCluster) {
            missing[r] = licences[r];
          } else if (missing[r] > 0) {
            const Amount of = part->amounts[r] > 0 ? part->amounts[r] : has[r];
            worst = std::max(worst, static_cast<double>(missing[r]) / static_cast<double>(of));
          }
        }
        if (nodes++ == 0 || worst < least) {
          least = worst;
          best = missing;
        }
        if (follows_request(request) && (worst > 0 || licences_lack))
          event(node, on_node(*job_request, *part, node, worst > 0), job, request, missing);
      }
    refusals_->nodes.push_back(nodes);
    refusals_->missing.insert(refusals_->missing.end(), best.begin(),
                              best.begin() + static_cast<std::ptrdiff_t>(width));
    if (follows_request(request)) {
      event(kNoId, rule, job, request, best);
      recorder_->events.back().spared = spared;
      recorder_->events.back().facts = facts_of(job, rule, job_request);
      note_standings(job);
    }
  }
  add_reserved(workspace.room, job, -1);
}

// The job that keeps another from its partition, or from a node where it may run; kNoId: none.
Id Run::held_up_by(Id job, const JobRequest* job_request) const {
  const Id by = closed_by_[jobs().partition[job]];
  if (by != kNoId && by != job) return by;
  if (job_request != nullptr)
    for (const JobRequest::Part& part : job_request->parts())
      for (Size n = 0; part.takes_node && n < part.allowed().size(); ++n)
        if (part.allowed()[n] && blocked_by_[n] != kNoId && blocked_by_[n] != job)
          return blocked_by_[n];
  return kNoId;
}

// What decided that a job waits.
Facts Run::facts_of(Id job, Outcome rule, const JobRequest* job_request) const {
  Facts facts;
  if (rule == Outcome::kBehindFirstWaiting || rule == Outcome::kWaitsForNextPass) {
    if (const Id by = held_up_by(job, job_request); by != kNoId)
      facts.operations.emplace_back("behind", by);
  } else if (rule == Outcome::kPreemptionBackoff) {
    const Time last = memory_.last_preempt[job];
    facts.times.emplace_back("since", last);
    facts.times.emplace_back("until", last + set().backoff);
  }
  return facts;
}

// How every other running job stands to a job whose request is followed.
void Run::note_standings(Id job) {
  Column<Outcome> verdicts;
  const Time due = workspace.pace.due();
  for (const RunningJob& other : workspace.running) {
    Outcome why = other.gone ? Outcome::kAlreadyPreempting : workspace.standing(job, other);
    if (why == Outcome::kTaken) why = workspace.spared(other).why;
    verdicts.push_back(why);
  }
  workspace.pace.due_again(due);
  recorder_->stands(verdicts);
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

// Whether a candidate's leaving gives a job anything: it ends, or is suspended by gang scheduling.
bool Run::may_help(const JobRequest& job_request, const RunningJob& other) const {
  const Settings& set = workspace.settings;
  const bool suspends = set.gang && set.selection != Selection::kTestOnly;
  return matters(workspace, job_request, other) &&
         (suspends || workspace.mode(other) != PreemptMode::kSuspend);
}

// A candidate that was added and does not leave: the job is placed elsewhere, or others suffice.
Outcome Run::off_or_spare(const RunningJob& other, const Choice& choice) const {
  const bool on_chosen = std::ranges::any_of(workspace.nodes(other), [&](Id node) {
    return std::ranges::find(choice.spots, node, &Spot::node) != choice.spots.end();
  });
  if (!on_chosen) return Outcome::kOffChosenNodes;
  return set().selection == Selection::kMinimum ? Outcome::kSparedFitsWithout : Outcome::kGivenBack;
}

// What became of the followed allocation among the candidates of a job; none leaves without a
// choice.
void Run::note(const JobRequest& job_request, const Column<Index>& candidates,
               const Choice* choice) {
  if (recorder_ == nullptr || recorder_->slot == kNoId) return;
  const auto has = [](const Column<Index>& in, Index i) {
    return std::ranges::find(in, i) != in.end();
  };
  const Id request = job_request.parts().front().request;
  for (const Index i : candidates) {
    if (!follows(of(i))) continue;
    const Outcome outcome = choice != nullptr && has(choice->victims, i) ? Outcome::kTaken
                            : choice != nullptr && has(choice->considered, i)
                                ? off_or_spare(of(i), *choice)
                            : !may_help(job_request, of(i)) ? Outcome::kFreesNothingUseful
                            : choice == nullptr             ? Outcome::kNoStartInStage
                                                            : Outcome::kSparedFitsWithout;
    event(first_node(of(i)), outcome, workspace.state.operation_of_request(request), request, {});
    Facts& facts = recorder_->events.back().facts;
    const auto place = std::ranges::find(candidates, i) - candidates.begin();
    facts.numbers.emplace_back("place", place + 1);
    facts.numbers.emplace_back("candidates", candidates.size());
    facts.numbers.emplace_back("victims", choice != nullptr ? choice->victims.size() : 0);
    Column<Id> nodes;
    if (choice != nullptr)
      for (const Spot& spot : choice->spots)
        if (spot.node != kNoId) nodes.push_back(spot.node);
    if (!nodes.empty()) facts.nodes.emplace_back("placed_on", std::move(nodes));
  }
}

// Likewise, where a job is placed over those that share their cpus with it.
void Run::note_sharing(const JobRequest& job_request, const Column<Index>& candidates,
                       const Column<Index>& victims, const std::vector<Spot>& spots) {
  if (recorder_ == nullptr || recorder_->slot == kNoId) return;
  Choice choice;
  choice.spots = spots;
  choice.victims = victims;
  choice.considered = candidates;
  std::erase_if(choice.considered, [&](Index i) {
    return std::ranges::any_of(workspace.nodes(of(i)), [&](Id node) {
      return std::ranges::find(spots, node, &Spot::node) != spots.end();
    });
  });
  note(job_request, candidates, &choice);
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
  for (const JobRequest::Part& part : job_request.parts()) {
    if (!part.takes_node) continue;
    Index open = 0, all = 0;
    const View<const std::uint8_t> allowed = part.allowed();
    for (Id n = 0; open < part.count && n < allowed.rows(); ++n)
      open += allowed[n] != 0 && could_hold(part, n);
    if (open >= part.count) continue;
    for (Id n = 0; n < static_cast<Id>(blocked_.size()); ++n) {
      const Outcome here = workspace.barred(part.request, n);
      if (here == Outcome::kStarted || here == Outcome::kNodeNotSchedulable)
        all += could_hold(part, n);
    }
    return all < part.count ? Outcome::kLargerThanNodes : Outcome::kNodeNotSchedulable;
  }
  return Outcome::kStarted;
}

}  // namespace evenhand::slurm
