#include "run_work.h"

namespace evenhand::slurm {
namespace {

// How far a job came: others leave for it, room was looked for, it was not looked at.
int reach(Outcome rule) {
  if (rule == Outcome::kWaitsForVictims) return 2;
  return may_wait_for_room(rule) ? 1 : 0;
}

}  // namespace

void Run::tell_refusals() {
  const std::vector<std::uint8_t> none(blocked_.size(), 0);
  // Of several turns of a job the first that came furthest is told.
  std::vector<Index> told(served_.size(), -1);
  for (Size i = 0; i < waiting_.size(); ++i) {
    Index& best = told[at(waiting_[i].turn.job)];
    if (best < 0 || reach(waiting_[i].rule) > reach(waiting_[static_cast<Size>(best)].rule))
      best = static_cast<Index>(i);
  }
  for (Size i = 0; i < waiting_.size(); ++i) {
    const auto& [turn, rule] = waiting_[i];
    if (told[at(turn.job)] != static_cast<Index>(i)) continue;
    stand_in(turn);
    const bool placed = rule != Outcome::kNotEligibleYet && rule != Outcome::kPartitionDown;
    const Wish wish = desk.wish(turn.job, none);
    tell_refusal(turn.job, rule, placed ? &wish : nullptr);
  }
}

// Of all its requests; with what lacks on the best of the nodes.
void Run::tell_refusal(Id job, Outcome rule, const Wish* wish) {
  const Grouping& by = tables().requests_by_operation;
  const Size width = desk.state.width();
  for (Index i = by.offsets[at(job)]; i < by.offsets[at(job) + 1]; ++i) {
    const Id request = by.items[static_cast<Size>(i)];
    if (desk.state.pending(request) <= 0) continue;
    refusals.request.push_back(request);
    refusals.rule.push_back(rule);
    Index nodes = 0;
    Row best{};
    double least = 0;
    const Wish::Part* part = nullptr;
    if (wish != nullptr)
      for (const Wish::Part& p : wish->parts())
        if (p.request == request) part = &p;
    if (part != nullptr && part->takes_node)
      for (Id node = 0; node < static_cast<Id>(blocked_.size()); ++node) {
        if (!part->allowed[at(node)]) continue;
        Row lacks{};
        desk.room.rooms.lacks(part->amounts, node, lacks.data());
        double worst = 0;
        for (Size r = 0; r < width; ++r)
          if (lacks[r] > 0)
            worst = std::max(worst,
                             static_cast<double>(lacks[r]) / static_cast<double>(part->amounts[r]));
        if (nodes++ == 0 || worst < least) {
          least = worst;
          best = lacks;
        }
        if (follows_request(request))
          event(node, worst > 0 ? Outcome::kNoFreeRoom : rule, request, lacks);
      }
    refusals.nodes.push_back(nodes);
    refusals.missing.insert(refusals.missing.end(), best.begin(),
                            best.begin() + static_cast<std::ptrdiff_t>(width));
    if (follows_request(request)) event(kNoId, rule, request, best);
  }
}

// What became of the followed allocation among the candidates of a job.
void Run::note(const Wish& wish, const std::vector<Index>& candidates,
               const std::vector<Index>& considered, const std::vector<Index>& victims) {
  if (recorder_ == nullptr || recorder_->slot == kNoId) return;
  const auto has = [](const std::vector<Index>& in, Index i) {
    return std::ranges::find(in, i) != in.end();
  };
  for (const Index i : candidates) {
    if (!follows(of(i))) continue;
    const Outcome outcome = has(victims, i)      ? Outcome::kTaken
                            : has(considered, i) ? Outcome::kOffChosenNodes
                            : victims.empty()    ? Outcome::kNoStartInStage
                                                 : Outcome::kSparedFitsWithout;
    event(first_node(of(i)), outcome, wish.parts().front().request, {});
  }
}

Outcome Run::barred_everywhere(Id job, Id request) const {
  Outcome found = Outcome::kNodeOutsidePartition;
  const Size row = at(jobs().partition[at(job)]) * blocked_.size();
  for (Size n = 0; n < blocked_.size(); ++n) {
    if (!jobs().node_of_partition[row + n]) continue;
    const Outcome here = desk.barred(request, static_cast<Id>(n));
    if (here == Outcome::kStarted) return Outcome::kBehindFirstWaiting;
    found = here;
  }
  return found;
}

}  // namespace evenhand::slurm
