#include "evenhand/core/times.h"
#include "run_work.h"

namespace evenhand::slurm {
namespace {

constexpr Time kSpan = 30 * kMicrosecondsPerSecond;
constexpr Size kMostSets = 64;

// The system counts in them.
Time whole_second(Time instant) { return floor_to(instant, kMicrosecondsPerSecond); }

}  // namespace

// Jobs in one partition, of one QOS and, where it counts, one priority may preempt the same.
std::shared_ptr<const CandidateSet> Run::candidate_set(Id job) {
  const Jobs& j = jobs();
  const Size o = at(job);
  const Qualities& quality = set().qualities;
  const Id qos = j.qos[o];
  const bool by_priority =
      set().type != PreemptType::kQos
          ? set().asks_priority_in(j.partition[o])
          : qos != kNoId && (set().priority || quality.priority[qos] || quality.lists(qos, qos));
  const double priority = by_priority ? j.priority[o] : 0;
  // It would be no candidate of its own, nor is what leaves for it.
  const bool apart = marked(job).has_victims || workspace.leaves_for(job) ||
                     std::ranges::any_of(workspace.state.allocations_of(job),
                                         [&](Id slot) { return workspace.state.holds(slot); });
  if (!apart)
    for (const auto& known : candidate_sets_)
      if (known->partition == j.partition[o] && known->qos == j.qos[o] &&
          known->tier == j.tier[o] && known->priority == priority)
        return known;
  const auto made = std::make_shared<CandidateSet>(
      CandidateSet{.partition = j.partition[o],
                   .qos = j.qos[o],
                   .tier = j.tier[o],
                   .priority = priority,
                   .jobs = workspace.candidates(job),
                   .has = Column<std::uint8_t>(workspace.running.size(), 0)});
  if (candidate_sets_.size() >= kMostSets) candidate_sets_.clear();
  if (!apart) candidate_sets_.push_back(made);
  due_at_exempt(job);
  CandidateSet& found = *made;
  for (const Index i : found.jobs)
    if (of(i).leaves) found.leaving.push_back(of(i).operation);
  if (!has_ends_) return made;  // the rest is for estimates
  Occupancy room = workspace.room;
  for (const Index i : found.jobs) {
    found.has[i] = 1;
    workspace.give(room, of(i), 1);
  }
  const Size nodes = blocked_.size(), width = workspace.state.width();
  found.gives.assign((nodes + 1) * width, 0);
  found.occupants.resize(nodes);
  found.exclusives.resize(nodes);
  for (Size n = 0; n < nodes; ++n) {
    found.occupants[n] = room.occupants[n] - workspace.room.occupants[n];
    found.exclusives[n] = room.exclusives[n] - workspace.room.exclusives[n];
    for (Size r = 0; r < width; ++r) {
      const bool wide = workspace.scope(r) == ResourceScope::kCluster;
      found.gives[(wide ? nodes : n) * width + r] =
          room.rooms.at(static_cast<Id>(n), r) - workspace.room.rooms.at(static_cast<Id>(n), r);
    }
  }
  return made;
}

// Room once all epilogs are over; and once all have gone, too, that may be preempted for a job,
// and what leaves for it.
Run::Estimate Run::estimate(Id job) {
  Estimate e{.wanted = candidate_set(job), .now = workspace.room, .emptied = workspace.room};
  const Time now = workspace.state.now();
  for (const Leaving& l : workspace.state.leaving()) {
    if (const Time gone = deadline(l.slot); gone == kNoTime || gone <= now)
      free(e.now, l.slot, nullptr);
  }
  for (const Index i : gone_)
    if (jobs().grace[of(i).operation] == 0) free(e.now, of(i), nullptr);
  e.emptied = e.now;
  for (const Leaving& l : workspace.state.leaving()) {
    const Time gone = deadline(l.slot);
    if (gone != kNoTime && gone > now && l.beneficiary.operation == job)
      free(e.emptied, l.slot, nullptr);
  }
  for (const Index i : gone_)
    if (jobs().grace[of(i).operation] > 0 && marked(of(i).operation).gone_for == job)
      free(e.emptied, of(i), nullptr);
  const Size nodes = blocked_.size(), width = workspace.state.width();
  for (Size n = 0; n <= nodes; ++n)
    e.emptied.rooms.give(e.wanted->gives.data() + n * width,
                         n == nodes ? kNoId : static_cast<Id>(n));
  for (Size n = 0; n < nodes; ++n) {
    e.emptied.occupants[n] += e.wanted->occupants[n];
    e.emptied.exclusives[n] += e.wanted->exclusives[n];
  }
  return e;
}

// Whether an end is on one of some nodes.
template <class Among>
bool Run::ends_on(const End& end, const Among& among) const {
  const auto there = [&](Id node) { return node != kNoId && among(node); };
  if (end.of == End::Of::kLeaving)
    return there(workspace.state.node_of(static_cast<Id>(end.which)));
  if (end.of == End::Of::kBegun)
    return std::ranges::any_of(spots_of(begun_[end.which]), there, &Spot::node);
  return std::ranges::any_of(workspace.nodes(of(end.which)), there);
}

// Free room; without all that may be preempted; then without what ends by and by, in spans that
// double until they reach the next end, of which each is tried once: the instant is the last end
// of the span. As the system does, a span is looked at as over only after an end that frees
// something: one that ends within it elsewhere lets the next end that does into it, however late.
Time Run::will_run(Id job, JobRequest& job_request, const Estimate& rooms, Tried tried,
                   std::vector<Spot>& spots) {
  const Time now = workspace.state.now();
  job_request.look_at(open_.data());
  for (const JobRequest::Part& part : job_request.parts()) {
    Index open = 0;
    for (Size n = 0; part.takes_node && n < open_.size(); ++n)
      open += part.allowed()[n] && open_[n];
    if (part.takes_node && open < part.count) return kNoTime;
  }
  const bool from_instant = set().rules.estimates_from_the_instant_tried;
  if (!(from_instant && tried.since > now) && job_request.place(rooms.now, spots)) return now;
  Occupancy room = rooms.emptied;
  const auto listed = [&](Size i) {
    while (i < ends_.size() && !is_listed(ends_[i], job, *rooms.wanted)) ++i;
    return i;
  };
  const auto beyond = [&](const End& end) {
    return from_instant && tried.later != kNoTime && end.at > tried.later;
  };
  Size next = listed(0);
  // Nothing is looked ahead for a job that starts at once or not at all and may preempt no other.
  if (from_instant && !(tried.now_only && rooms.wanted->jobs.empty()))
    for (; next < ends_.size() && ends_[next].at < whole_second(tried.since);
         next = listed(next + 1))
      free(room, ends_[next], nullptr);
  if (job_request.place(room, spots)) return now;
  if (tried.now_only) return kNoTime;
  job_request.begin(room);
  const Size first = next;
  Time until = kNoTime, span = kSpan;
  while (next < ends_.size()) {
    Size last = ends_.size();
    while (next < ends_.size() && !beyond(ends_[next])) {
      const Size here = next;
      next = listed(next + 1);
      if (!ends_on(ends_[here], [this](Id node) { return open_[node] != 0; })) continue;
      if (until == kNoTime) until = floor_to(ends_[here].at, kSpan) + kSpan;
      free(room, ends_[here], &job_request);
      last = here;
      if (next < ends_.size() && ends_[next].at > until + span) break;
    }
    if (last == ends_.size()) return kNoTime;
    do span *= 2;
    while (next < ends_.size() && ends_[next].at > until + span);
    if (job_request.may_fit(room) && job_request.place(room, spots)) {
      const Time end = ends_[planned_by(first, last, job, *rooms.wanted, spots)].at;
      return end > now ? end : std::max(end + set().kill_wait, now + kMicrosecondsPerSecond);
    }
    if (next < ends_.size() && beyond(ends_[next])) return kNoTime;
  }
  return kNoTime;
}

// Of the ends from a first until a last, the one at which a job is planned to start: the last, or
// the last on a node that it is to have.
Size Run::planned_by(Size first, Size last, Id job, const CandidateSet& wanted,
                     const std::vector<Spot>& spots) const {
  if (!set().rules.starts_at_an_end_on_its_nodes) return last;
  const auto has = [&](Id node) {
    return std::ranges::find(spots, node, &Spot::node) != spots.end();
  };
  for (Size i = last + 1; i-- > first;)
    if (is_listed(ends_[i], job, wanted) && ends_on(ends_[i], has)) return i;
  return last;
}

Time Run::end_of(const RunningJob& job) const {
  Time last = kNoTime;
  for (const Id slot : workspace.slots(job)) {
    const Time end = planned_end(slot);
    if (end == kNoTime) return job.start + kYear;
    last = std::max(last, end);
  }
  return last;
}

void Run::collect_ends() {
  has_ends_ = true;
  candidate_sets_.clear();
  const Time now = workspace.state.now();
  for (Size i = 0; i < workspace.running.size(); ++i)
    if (const RunningJob& job = workspace.running[i]; !job.gone && !job.leaves)
      ends_.push_back({end_of(job), job.operation, End::Of::kRunning, static_cast<Index>(i)});
  for (const Index i : gone_)
    if (const Time grace = jobs().grace[of(i).operation]; grace > 0)
      ends_.push_back({std::min(now + grace, end_of(of(i))), of(i).operation, End::Of::kVictim, i});
  Column<Id> leaving;
  for (const Leaving& l : workspace.state.leaving()) leaving.push_back(l.slot);
  put_in_order(workspace.state.allocations(), std::span<Id>(leaving));
  for (const Id slot : leaving) {
    const Time gone = deadline(slot);
    if (gone != kNoTime && gone > now)
      ends_.push_back(
          {gone, workspace.state.operation_of(slot), End::Of::kLeaving, static_cast<Index>(slot)});
  }
  for (Size i = 0; i < begun_.size(); ++i)
    ends_.push_back({begun_[i].end, begun_[i].job, End::Of::kBegun, static_cast<Index>(i)});
  for (End& end : ends_) complete(end);
  std::ranges::stable_sort(ends_, std::less{}, End::key);
}

void Run::complete(End& end) const {
  end.at = whole_second(end.at);
  end.rank = workspace.state.operations().keys().rank(end.job);
}

void Run::add_end(End end) {
  complete(end);
  ends_.insert(std::ranges::upper_bound(ends_, End::key(end), std::less{}, End::key), end);
}

// Whether it was not counted yet among what gives way to a job.
bool Run::is_listed(const End& end, Id job, const CandidateSet& wanted) const {
  switch (end.of) {
    case End::Of::kRunning:
      return !of(end.which).gone && !wanted.has[end.which];
    case End::Of::kVictim:
      return marked(end.job).gone_for != job && !wanted.has[end.which];
    case End::Of::kLeaving:
      return workspace.state.leaving_at(static_cast<Id>(end.which))->beneficiary.operation != job &&
             std::ranges::find(wanted.leaving, end.job) == wanted.leaving.end();
    case End::Of::kBegun:
      return true;
  }
  return false;
}

void Run::free(Occupancy& room, const End& end, JobRequest* job_request) const {
  if (end.of == End::Of::kLeaving) return free(room, static_cast<Id>(end.which), job_request);
  if (end.of != End::Of::kBegun) return free(room, of(end.which), job_request);
  const Begun& begun = begun_[end.which];
  for (const Spot& spot : spots_of(begun)) {
    room.rooms.give(workspace.amounts(spot.request), spot.node);
    if (spot.node == kNoId) continue;
    --room.occupants[spot.node];
    room.exclusives[spot.node] -= takes_whole_nodes(begun.job) ? 1 : 0;
    if (job_request != nullptr) job_request->changed(room, spot.node);
  }
}

void Run::free(Occupancy& room, const RunningJob& job, JobRequest* job_request) const {
  for (const Id slot : workspace.slots(job)) free(room, slot, job_request);
}

// An allocation is over, with all that it has.
void Run::free(Occupancy& room, Id slot, JobRequest* job_request) const {
  const Id node = workspace.state.node_of(slot);
  room.rooms.give(workspace.state.amounts(slot), node);
  if (node == kNoId) return;
  --room.occupants[node];
  room.exclusives[node] -= jobs().exclusive[workspace.state.operation_of(slot)];
  if (job_request != nullptr) job_request->changed(room, node);
}

}  // namespace evenhand::slurm
