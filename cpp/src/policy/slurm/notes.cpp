// What a recorder is told of one request or one allocation.
#include "run_work.h"

namespace evenhand::slurm {

// Whether a job is looked at before another one.
bool Run::is_before(Id job, Id other) const {
  for (const Turn& turn : queue_.turns()) {
    if (turn.job == other) return false;
    if (turn.job == job) return true;
  }
  return false;
}

// The job that keeps another from its partition, or from a node where it may run; kNoId: none.
Id Run::held_up_by(Id job, const JobRequest* job_request) const {
  const auto keeps = [&](Id by) { return by != kNoId && is_before(by, job); };
  const Id by = closed_by_[jobs().partition[job]];
  if (keeps(by)) return by;
  if (job_request != nullptr)
    for (const JobRequest::Part& part : job_request->parts())
      for (Size n = 0; part.takes_node && n < part.allowed().size(); ++n)
        if (part.allowed()[n] && keeps(blocked_by_[n])) return blocked_by_[n];
  return kNoId;
}

// What decided that a job waits.
Facts Run::facts_of(Id job, Outcome rule, const JobRequest* job_request) const {
  Facts facts;
  if (rule == Outcome::kBehindFirstWaiting || rule == Outcome::kWaitsForNextPass) {
    const bool others = marked(job).waits_for_others;
    if (const Id by = held_up_by(job, job_request); by != kNoId && !others) {
      facts.operations.emplace_back("behind", by);
    } else if (job_request != nullptr) {
      Column<Id> nodes;  // on which something ends for others
      for (const Id n : jobs().nodes())
        if (job_request->touches(n) &&
            (others ? leaves_node(n, job) : ending_[n] != kNoId && ending_[n] != job))
          nodes.push_back(n);
      if (!nodes.empty()) facts.nodes.emplace_back("ending_on", std::move(nodes));
    }
  } else if (rule == Outcome::kPreemptionBackoff) {
    const Time last = memory_.last_preempt[job];
    facts.times.emplace_back("since", last);
    facts.times.emplace_back("until", last + set().backoff);
  }
  if (const auto hit = hits_.find(job); rule == Outcome::kLimitReached && hit != hits_.end()) {
    const LimitHit& found = hit->second;
    facts.numbers.emplace_back("limit", static_cast<double>(found.of));
    facts.numbers.emplace_back("of_association", found.association);
    facts.numbers.emplace_back("limited", found.row);
    facts.numbers.emplace_back("measure", static_cast<double>(found.measure));
    facts.numbers.emplace_back("used", found.used);
    facts.numbers.emplace_back("asked", found.asked);
    facts.numbers.emplace_back("most", found.most);
  }
  facts.numbers.emplace_back("partition", jobs().partition[job]);
  return facts;
}

// Whether a job that may be counted on once more stands on a node.
bool Run::leaves_node(Id node, Id job) const {
  return std::ranges::any_of(workspace.running, [&](const RunningJob& other) {
    return workspace.serves_again(job, other) &&
           std::ranges::find(workspace.nodes(other), node) != workspace.nodes(other).end();
  });
}

// How every other running job stands to a job whose request is followed.
void Run::note_standings(Id job) {
  Column<Outcome> verdicts;
  const Time due = workspace.pace.due();
  for (const RunningJob& other : workspace.running) {
    if (other.leaves && !other.gone) continue;
    Outcome why = other.gone ? Outcome::kAlreadyPreempting : workspace.standing(job, other);
    if (why == Outcome::kTaken) why = workspace.spared(other).why;
    verdicts.push_back(why);
  }
  workspace.pace.due_again(due);
  recorder_->stands(verdicts);
}

// What a followed request lacks on each node, as things are.
void Run::note_nodes(const JobRequest& job_request, const JobRequest::Part& part, Outcome rule) {
  const Id job = workspace.state.operation_of_request(part.request);
  const Lack now = lack(workspace.room, job_request, part, rule);
  for (const Id node : jobs().nodes()) {
    if (!part.allowed()[node]) continue;
    Row missing{};
    const double worst = lacking(workspace.room, job_request, part, now.licences, node, missing);
    if (worst > 0 || now.no_licence)
      event(node, on_node(job_request, part, node, worst > 0), job, part.request, missing);
  }
}

// Why a followed request waits, by the rule of all of its job; room is that in which it was looked
// at, `emptied`: without what may be preempted.
void Run::note_refusal(Outcome own, Outcome rule, const JobRequest* job_request,
                       const JobRequest::Part* part, const Occupancy& room, const Lack& found,
                       bool emptied) {
  const Id request = recorder_->request;
  const Id job = workspace.state.operation_of_request(request);
  event(emptied ? found.node : kNoId, own, job, request, emptied ? found.short_of : found.best);
  Facts& facts = recorder_->events.back().facts = facts_of(job, own, job_request);
  if (emptied && own == rule && part != nullptr && part->takes_node) {
    facts.numbers.emplace_back("nodes_needed", part->count);
    facts.numbers.emplace_back("nodes_with_room", found.with_room);
    facts.numbers.emplace_back("in_use", in_use(room, found.node, job_request->whole_nodes()));
  }
  if (own != Outcome::kOtherRequestWaits) return;
  for (const JobRequest::Part& p : job_request->parts())
    if (of_request(rule, *job_request, p, lack(room, *job_request, p, rule)) != own) {
      facts.requests.emplace_back("lacking", p.request);
      return;
    }
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

// As which job one asks: of the partition whose turn it is.
void Run::note_asking(Facts& facts, Id job) const {
  facts.numbers.emplace_back("tier_of_asking", jobs().tier[job]);
  facts.numbers.emplace_back("partition_of_asking", jobs().partition[job]);
}

// How the followed allocation stands to a job that asks; what may be preempted is noted later.
void Run::note_standing(Id job, Id request, const RunningJob& other) {
  Spared why{.why = workspace.standing(job, other)};
  const bool may = why.why == Outcome::kTaken;
  if (may) why = workspace.spared(other);
  if (why.why == Outcome::kTaken) return;
  event(first_node(other), why.why, job, request, {});
  if (may) recorder_->events.back().spared = why;
  note_asking(recorder_->events.back().facts, job);
}

// What became of it where what leaves for a job already is enough.
void Run::note_leaving(Id job, Id request, const std::vector<Spot>& spots) {
  if (recorder_ == nullptr || recorder_->slot == kNoId) return;
  const Time due = workspace.pace.due();
  for (const RunningJob& other : workspace.running) {
    if (other.gone || other.leaves || !follows(other)) continue;
    note_standing(job, request, other);
    if (workspace.standing(job, other) != Outcome::kTaken ||
        workspace.spared(other).why != Outcome::kTaken)
      continue;
    event(first_node(other), Outcome::kSparedFitsWithout, job, request, {});
    Facts& facts = recorder_->events.back().facts;
    note_asking(facts, job);
    facts.numbers.emplace_back("leaving", 1);
    Column<Id> nodes;
    for (const Spot& spot : spots)
      if (spot.node != kNoId) nodes.push_back(spot.node);
    if (!nodes.empty()) facts.nodes.emplace_back("placed_on", std::move(nodes));
  }
  workspace.pace.due_again(due);
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
  const auto runs_on = [this](Index i) { return !of(i).leaves; };
  for (const Index i : candidates) {
    if (!follows(of(i)) || !runs_on(i)) continue;
    const Outcome outcome = choice != nullptr && has(choice->victims, i) ? Outcome::kTaken
                            : choice != nullptr && has(choice->considered, i)
                                ? off_or_spare(of(i), *choice)
                            : !may_help(job_request, of(i)) ? Outcome::kFreesNothingUseful
                            : choice == nullptr             ? Outcome::kNoStartInStage
                                                            : Outcome::kSparedFitsWithout;
    event(first_node(of(i)), outcome, workspace.state.operation_of_request(request), request, {});
    Facts& facts = recorder_->events.back().facts;
    note_asking(facts, workspace.state.operation_of_request(request));
    if (outcome == Outcome::kFreesNothingUseful && matters(workspace, job_request, of(i)))
      facts.numbers.emplace_back("suspended", 1);  // in vain: nothing computes in its place
    if (outcome == Outcome::kFreesNothingUseful) {
      Column<Id> open;
      for (const Id node : jobs().nodes())
        if (job_request.touches(node)) open.push_back(node);
      facts.nodes.emplace_back("open", std::move(open));
    }
    const auto count = [&](auto from, auto to) { return std::ranges::count_if(from, to, runs_on); };
    const auto begin = candidates.begin();
    facts.numbers.emplace_back("place", count(begin, std::ranges::find(candidates, i)) + 1);
    facts.numbers.emplace_back("candidates", count(begin, candidates.end()));
    facts.numbers.emplace_back(
        "victims", choice != nullptr ? std::ranges::count_if(choice->victims, runs_on) : 0);
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

}  // namespace evenhand::slurm
