// What a recorder is told of one request or one allocation.
#include <string>

#include "run_work.h"

namespace evenhand::slurm {
namespace {

constexpr std::array kModes{"OFF", "CANCEL", "REQUEUE", "SUSPEND"};

double seconds(Time time) { return static_cast<double>(time) * kSeconds; }

// What has no name is not recorded: the partition of jobs in none, no QOS.
void name_row(Facts& facts, const char* name, const char* table, Id row, Size rows) {
  if (row != kNoId && at(row) < rows) facts.settings.emplace_back(name, std::pair{table, row});
}

void name_nodes(Facts& facts, const char* name, const std::vector<Spot>& spots) {
  Column<Id> nodes;
  for (const Spot& spot : spots)
    if (spot.node != kNoId) nodes.push_back(spot.node);
  if (!nodes.empty()) facts.nodes.emplace_back(name, std::move(nodes));
}

}  // namespace

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

void Run::name_partition(Facts& facts, const char* name, Id partition) const {
  name_row(facts, name, "partitions", partition, set().partitions.names.size());
}

// In which of several partitions a job is looked at.
void Run::name_turn(Facts& facts, Id job) const {
  if (jobs().in_several(job)) name_partition(facts, "turn", jobs().partition[job]);
}

// What was asked to leave for a job before.
Column<Id> Run::leaving_for(Id job) const {
  Column<Id> slots;
  for (const Leaving& l : workspace.state.leaving())
    if (l.beneficiary.operation == job) slots.push_back(l.slot);
  return in_order(workspace.state.allocations(), slots);
}

// What leaves for a job, now and since before; if all of it is known, by when it has gone.
void Run::note_victims(Facts& facts, Id job) const {
  Column<Id> slots;
  Time until = kNoTime;
  bool known = true;
  const auto add = [&](Id slot, Time by) {
    slots.push_back(slot);
    known &= by != kNoTime;
    until = std::max(until, by);
  };
  for (const Decision& d : decisions.rows())
    if (d.action == Action::kPreempt && d.beneficiary.operation == job) add(d.slot, d.until);
  for (const Id slot : leaving_for(job)) add(slot, deadline(slot));
  if (slots.empty()) return;
  facts.slots.emplace_back("leaving", std::move(slots));
  if (!known) return;
  facts.times.emplace_back("until", until);
  facts.numbers.emplace_back("is_ahead", until > workspace.state.now());
}

// The limit that holds a job back: of run times in minutes, as it is set.
void Run::note_limit(Facts& facts, const LimitHit& hit) const {
  const Limits& limits = set().limits;
  const LimitRows& rows = hit.association ? limits.associations : limits.qos;
  facts.settings.emplace_back("of",
                              std::pair{hit.association ? "association_limits" : "qos", hit.row});
  facts.numbers.emplace_back("of_association", hit.association);
  facts.numbers.emplace_back("kind", static_cast<double>(hit.of));
  if (hit.of == LimitOf::kUnread) {
    facts.lists.emplace_back("limits", rows.unread[at(hit.row)]);
    return;
  }
  const double unit = is_run(hit.of) ? 60.0 : 1.0;
  facts.words.emplace_back("measure", limits.measures[static_cast<Size>(hit.measure)]);
  facts.numbers.emplace_back("used", hit.used / unit);
  facts.numbers.emplace_back("asked", hit.asked / unit);
  facts.numbers.emplace_back("most", hit.most / unit);
}

// What lacks of the cluster's; of what nothing lacks it is not said.
void Run::note_licences(Facts& facts, const Row& missing) const {
  Column<Amount> licences(workspace.state.width(), kUnsaid);
  for (Size r = 0; r < licences.size(); ++r)
    if (workspace.scope(r) == ResourceScope::kCluster && missing[r] > 0) licences[r] = missing[r];
  facts.amounts.emplace_back("licences", std::move(licences));
}

// What decided that a job waits.
Facts Run::facts_of(Id job, Outcome rule, const JobRequest* job_request) const {
  Facts facts;
  const Id partition = jobs().partition[job];
  name_partition(facts, "partition", partition);
  name_turn(facts, job);
  if (rule == Outcome::kWaitsForNextPass && !set().backfill && !trigger_.main_pass)
    facts.numbers.emplace_back("no_pass", 1);
  if (rule == Outcome::kWaitsForVictims) note_victims(facts, job);
  if (rule == Outcome::kNotEligibleYet) {
    facts.times.emplace_back("now", workspace.state.now());
    facts.times.emplace_back("eligible_time", jobs().eligible[job]);
  }
  if (rule == Outcome::kPartitionTimeLimit) {
    facts.numbers.emplace_back("time_limit", seconds(limit(job).value_or(0)));
    facts.numbers.emplace_back("MaxTime", seconds(set().partitions.max_time[partition]));
  }
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
    facts.times.emplace_back("since", memory_.last_preempt[job]);
    facts.times.emplace_back("until", backs_off_until(job));
  }
  if (const auto hit = hits_.find(job); rule == Outcome::kLimitReached && hit != hits_.end()) {
    note_limit(facts, hit->second);
  }
  return facts;
}

// Whether a job that may be counted on once more stands on a node.
bool Run::leaves_node(Id node, Id job) const {
  return std::ranges::any_of(workspace.running, [&](const RunningJob& other) {
    return workspace.serves_again(job, other) &&
           std::ranges::find(workspace.nodes(other), node) != workspace.nodes(other).end();
  });
}

// How every other running job stands to a job whose request is followed; returns how many run.
Size Run::note_standings(Id job) {
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
  return verdicts.size();
}

// What a followed request lacks on each node, as things are.
void Run::note_nodes(const JobRequest& job_request, const JobRequest::Part& part, Outcome rule) {
  const Id job = workspace.state.operation_of_request(part.request);
  const Lack now = lack(workspace.room, job_request, part, rule);
  for (const Id node : jobs().nodes()) {
    if (!part.allowed()[node]) continue;
    Row missing{};
    const double worst = lacking(workspace.room, job_request, part, now.licences, node, missing);
    if (worst <= 0 && !now.no_licence) continue;
    event(node, on_node(job_request, part, node, worst > 0), job, part.request, missing);
    note_licences(recorder_->events.back().facts, missing);
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
  facts.numbers.emplace_back("running", static_cast<double>(note_standings(job)));
  note_licences(facts, found.licences);
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

bool Run::runs_on_one(const RunningJob& job, const std::vector<Spot>& spots) const {
  return std::ranges::any_of(workspace.nodes(job), [&](Id node) {
    return std::ranges::find(spots, node, &Spot::node) != spots.end();
  });
}

// A candidate that was added and does not leave: the job is placed elsewhere, or others suffice.
Outcome Run::off_or_spare(const RunningJob& other, const Choice& choice) const {
  if (!runs_on_one(other, choice.spots)) return Outcome::kOffChosenNodes;
  return set().selection == Selection::kMinimum ? Outcome::kSparedFitsWithout : Outcome::kGivenBack;
}

// What is compared of a job that runs and one that asks, as of the partition whose turn it is.
Facts Run::compared(Id job, const RunningJob& other) const {
  const Id its = other.operation;
  const bool by_qos = set().type == PreemptType::kQos;
  Facts facts;
  facts.operations.emplace_back("asks", job);
  facts.numbers.emplace_back("tier", jobs().tier[its]);
  facts.numbers.emplace_back("tier_of_asking", jobs().tier[job]);
  facts.numbers.emplace_back("priority", jobs().priority[its]);
  facts.numbers.emplace_back("priority_of_asking", jobs().priority[job]);
  facts.numbers.emplace_back("in_one_partition", jobs().partition[job] == jobs().partition[its]);
  facts.numbers.emplace_back("in_one_qos", jobs().qos[job] == jobs().qos[its]);
  facts.numbers.emplace_back("asks_priority",
                             by_qos ? set().asks_priority_of(jobs().qos[job], jobs().qos[its])
                                    : set().asks_priority_in(jobs().partition[job]));
  const Size qualities = set().qualities.size();
  name_row(facts, "its_qos", "qos", jobs().qos[its], qualities);
  name_row(facts, "qos_of_asking", "qos", jobs().qos[job], qualities);
  name_partition(facts, "partition", jobs().partition[its]);
  name_partition(facts, "partition_of_asking", jobs().partition[job]);
  name_turn(facts, job);
  return facts;
}

// What decided that a job may not be preempted.
void Run::note_barred(Facts& facts, const RunningJob& other, Outcome why) const {
  const Time exempt = jobs().exempt[other.operation];
  if (why == Outcome::kRanTooShort) {
    facts.numbers.emplace_back("seconds", seconds(workspace.state.now() - other.start));
    facts.numbers.emplace_back("PreemptExemptTime", seconds(exempt));
    facts.times.emplace_back("until", other.start + exempt);
  }
  if (why != Outcome::kNotPreemptibleFlag) return;
  Column<Id> marked;
  for (const Id slot : workspace.slots(other))
    if (workspace.state.allocations().get(&AllocationColumns::preemptible, slot, std::uint8_t{1}) ==
        0)
      marked.push_back(slot);
  facts.slots.emplace_back("marked", std::move(marked));
}

// How the followed allocation stands to a job that asks; what may be preempted is noted later.
void Run::note_standing(Id job, Id request, const RunningJob& other) {
  Spared why{.why = workspace.standing(job, other)};
  const bool may = why.why == Outcome::kTaken;
  if (may) why = workspace.spared(other);
  if (why.why == Outcome::kTaken) return;
  event(first_node(other), why.why, job, request, {});
  if (may) recorder_->events.back().spared = why;
  note_barred(recorder_->events.back().facts = compared(job, other), other, why.why);
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
    Facts& facts = recorder_->events.back().facts = compared(job, other);
    facts.slots.emplace_back("leaving", leaving_for(job));
    name_nodes(facts, "placed_on", spots);
  }
  workspace.pace.due_again(due);
}

// What put a victim in its place among others, and what becomes of it.
void Run::note_taken(Facts& facts, const JobRequest& job_request, Id job,
                     const RunningJob& other) const {
  const Size v = at(other.operation), p = at(jobs().partition[v]);
  const bool by_qos = set().type == PreemptType::kQos;
  const Id qos = jobs().qos[v];
  facts.numbers.emplace_back("youngest", set().youngest_first);
  facts.numbers.emplace_back("rank", static_cast<double>(jobs().rank[v]));
  facts.numbers.emplace_back("nodes", static_cast<double>(workspace.nodes(other).size()));
  facts.times.emplace_back("start_time", other.start);
  const PreemptMode said = !by_qos        ? set().partitions.mode[p]
                           : qos == kNoId ? set().mode
                                          : set().qualities.mode[qos];
  facts.words.emplace_back("PreemptMode", kModes[static_cast<Size>(said)]);
  facts.numbers.emplace_back(
      "is_batch", workspace.state.operations().get(&OperationColumns::kind, other.operation) ==
                      OperationKind::kBatch);
  facts.numbers.emplace_back("GraceTime", seconds(jobs().grace[v]));
  facts.numbers.emplace_back("takes_node",
                             takes_whole_nodes(job) || takes_whole_nodes(other.operation));
  if (!set().reclaim_licenses) return;
  Row lacks{};
  for (const Id slot : workspace.slots(other))
    for (Size r = 0; r < workspace.state.width(); ++r)
      if (workspace.state.amounts(slot)[r] > 0 &&
          workspace.state.tables().resources.scope[r] == ResourceScope::kCluster)
        lacks[r] = job_request.licences()[r] - workspace.room.rooms.at(kNoId, r);
  note_licences(facts, lacks);
}

// What became of the followed allocation among the candidates of a job; none leaves without a
// choice, nor where the dry run does not say which (`unsaid`).
void Run::note(const JobRequest& job_request, const Column<Index>& candidates, const Choice* choice,
               bool unsaid) {
  if (!follows_running()) return;
  const auto has = [](const Column<Index>& in, Index i) {
    return std::ranges::find(in, i) != in.end();
  };
  const Id request = job_request.parts().front().request;
  const Id job = workspace.state.operation_of_request(request);
  const auto runs_on = [this](Index i) { return !of(i).leaves; };
  for (const Index i : candidates) {
    const bool taken = choice != nullptr && has(choice->victims, i);
    if (!(follows(of(i)) || (taken && recorder_->all_taken)) || !runs_on(i)) continue;
    const Outcome outcome = taken ? Outcome::kTaken
                            : choice != nullptr && has(choice->considered, i)
                                ? off_or_spare(of(i), *choice)
                            : !may_help(job_request, of(i)) ? Outcome::kFreesNothingUseful
                            : choice == nullptr             ? Outcome::kNoStartInStage
                                                            : Outcome::kSparedFitsWithout;
    event(first_node(of(i)), outcome, job, request, {});
    if (recorder_->all_taken) recorder_->events.back().slot = workspace.slots(of(i)).front();
    Facts& facts = recorder_->events.back().facts = compared(job, of(i));
    if (outcome == Outcome::kTaken) note_taken(facts, job_request, job, of(i));
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
    facts.numbers.emplace_back("gang", set().gang);
    facts.numbers.emplace_back("unsaid", unsaid);
    if (choice == nullptr) continue;
    name_nodes(facts, "placed_on", choice->spots);
    if (!facts.nodes.empty())
      facts.numbers.emplace_back("runs_there", runs_on_one(of(i), choice->spots));
  }
}

// Likewise, where a job is placed over those that share their cpus with it.
void Run::note_sharing(const JobRequest& job_request, const Column<Index>& candidates,
                       const Column<Index>& victims, const std::vector<Spot>& spots) {
  if (!follows_running()) return;
  Choice choice;
  choice.spots = spots;
  choice.victims = victims;
  choice.considered = candidates;
  std::erase_if(choice.considered, [&](Index i) { return runs_on_one(of(i), spots); });
  note(job_request, candidates, &choice);
}

}  // namespace evenhand::slurm
