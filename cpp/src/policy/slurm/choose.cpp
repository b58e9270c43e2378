#include "evenhand/policy/slurm/choose.h"

#include <algorithm>

namespace evenhand::slurm {
namespace {

using Size = std::size_t;

// A licence that a pending job wants, and that comes free if its holder goes.
bool holds_licence(const Workspace& workspace, const JobRequest& job_request,
                   const RunningJob& job) {
  if (!workspace.settings.reclaim_licenses) return false;
  for (const Id slot : workspace.slots(job))
    for (Size r = 0; r < job_request.licences().size(); ++r)
      if (job_request.licences()[r] > 0 && workspace.state.amounts(slot)[r] > 0) return true;
  return false;
}

class Chooser {
 public:
  Chooser(const Workspace& workspace, JobRequest& job_request, const Occupancy& base,
          const Column<Index>& candidates, bool suspends)
      : workspace_(workspace),
        job_request_(job_request),
        base_(base),
        order_(candidates),
        room_(base),
        suspends_(suspends) {
    takes_.resize(workspace.running.size(), 0);
    for (const Index i : candidates) {
      const RunningJob& job = workspace.running[i];
      const PreemptMode mode = workspace.mode(job);
      const bool right = suspends ? mode == PreemptMode::kSuspend
                                  : mode == PreemptMode::kCancel || mode == PreemptMode::kRequeue;
      takes_[i] = right && matters(workspace, job_request, job);
    }
  }

  // In order until it fits; the number of candidates that it took, 0: it never fits.
  Size pass(Choice& to) {
    room_ = base_;
    job_request_.begin(room_);
    for (Size k = 0; k < order_.size(); ++k) {
      if (!takes_[order_[k]]) continue;
      move(job(k), 1);
      if (job_request_.may_fit(room_) && job_request_.place(room_, to.spots)) return k + 1;
    }
    return 0;
  }

  void reordered(Choice& to) {
    const Settings& set = workspace_.settings;
    const Index most = set.whole_nodes ? 0 : set.reorder_count;
    const auto count = static_cast<Index>(order_.size());
    for (Index passes = 1;; ++passes) {
      const Size tried = pass(to);
      if (tried == 0) return;
      if (passes - 1 > most || count <= passes) {
        to.fits = true;
        finish(to, tried);
        return;
      }
      const auto last = order_.begin() + static_cast<std::ptrdiff_t>(tried) - 1;
      if (!set.strict_order) {
        mark(to);
        Column<Index> overlap(workspace_.running.size(), 0);
        for (auto i = order_.begin(); i != last; ++i) overlap[*i] = overlaps(*i);
        std::stable_sort(order_.begin(), last,
                         [&](Index a, Index b) { return overlap[a] > overlap[b]; });
      }
      std::rotate(order_.begin(), last, last + 1);
    }
  }

  void all_at_once(Choice& to) {
    room_ = base_;
    for (Size k = 0; k < order_.size(); ++k)
      if (takes_[order_[k]]) workspace_.give(room_, job(k), 1);
    to.fits = job_request_.place(room_, to.spots);
    if (to.fits) finish(to, order_.size());
  }

  void chosen(Choice& to, VictimSelection selection, Index budget,
              MinimumQuestion* written = nullptr);

 private:
  friend class Trial;

  const RunningJob& job(Size k) const { return workspace_.running[order_[k]]; }
  void move(const RunningJob& job, Amount sign) {
    workspace_.give(room_, job, sign);
    for (const Id node : workspace_.nodes(job)) job_request_.changed(room_, node);
  }
  void mark(const Choice& to) {
    chosen_.assign(base_.occupants.size(), 0);
    for (const Spot& spot : to.spots)
      if (spot.node != kNoId) chosen_[spot.node] = 1;
  }
  Index overlaps(Index i) const {
    Index count = 0;
    for (const Id node : workspace_.nodes(workspace_.running[i])) count += chosen_[node];
    return count;
  }
  bool lends(Index i) const {  // a licence that was short
    return !job_request_.licences_fit(base_) &&
           holds_licence(workspace_, job_request_, workspace_.running[i]);
  }
  // Victims of the selections that are not tried set by set.
  Column<Index> others(bool all) const {
    Choice choice;
    JobRequest job_request = job_request_;
    Chooser other(workspace_, job_request, base_, order_, suspends_);
    all ? other.all_at_once(choice) : other.reordered(choice);
    return choice.victims;
  }
  static Column<Id> positions(const Column<Index>& all, const Column<Index>& some) {
    Column<Id> out;
    for (Size i = 0; i < all.size(); ++i)
      if (std::ranges::find(some, all[i]) != some.end()) out.push_back(static_cast<Id>(i));
    return out;
  }
  void finish(Choice& to, Size tried) {
    mark(to);
    for (Size k = 0; k < tried; ++k) {
      const Index i = order_[k];
      if (!takes_[i]) continue;
      to.considered.push_back(i);
      if (overlaps(i) > 0 || lends(i)) to.victims.push_back(i);
    }
  }

  const Workspace& workspace_;
  JobRequest& job_request_;
  const Occupancy& base_;
  Column<Index> order_;
  Occupancy room_;
  Column<std::uint8_t> takes_, chosen_;
  bool suspends_;
};

// A set of jobs suffices if the pending one can be placed once they are gone.
class Trial final : public VictimTrial {
 public:
  Trial(Chooser& chooser, Column<Index> jobs) : chooser_(chooser), jobs_(std::move(jobs)) {
    chooser_.room_ = chooser_.base_;
    chooser_.job_request_.begin(chooser_.room_);
  }

  void take(Id candidate) override { chooser_.move(job(candidate), 1); }
  void give_back(Id candidate) override { chooser_.move(job(candidate), -1); }
  bool suffices() override {
    if (!chooser_.job_request_.may_fit(chooser_.room_)) return false;
    // With one part, as many usable nodes as it wants are enough.
    return chooser_.job_request_.parts().size() == 1 || place(scratch_);
  }
  bool place(std::vector<Spot>& spots) {
    return chooser_.job_request_.place(chooser_.room_, spots);
  }

  // Costs of the jobs.
  Column<Index> costs() const {
    const Workspace& workspace = chooser_.workspace_;
    const VictimCosts costs{workspace.settings.victim_cost, workspace.jobs.rows().preemption_cost};
    Column<Index> out;
    for (Size i = 0; i < jobs_.size(); ++i) {
      const RunningJob& of = job(static_cast<Id>(i));
      out.push_back(costs.of(workspace.state, of.operation, workspace.slots(of)));
    }
    return out;
  }

  // Which sets of jobs make room for each part that takes nodes, as if it were alone, and
  // for the licences; without such a part for the licences only.
  std::vector<SpreadNeed> spread() const {
    std::vector<SpreadNeed> needs;
    for (const JobRequest::Part& part : chooser_.job_request_.parts())
      if (part.takes_node) needs.push_back(spread(&part));
    if (needs.empty()) needs.push_back(spread(nullptr));
    return needs;
  }

  SpreadNeed spread(const JobRequest::Part* part) const {
    const Workspace& workspace = chooser_.workspace_;
    const JobRequest& job_request = chooser_.job_request_;
    const Occupancy& base = chooser_.base_;
    // One row more: what is in the way, whatever it holds.
    const Size width = workspace.state.width(), rows = width + 1, nodes = base.occupants.size();
    const std::vector<ResourceScope>& scope = workspace.state.tables().resources.scope;
    const bool alone = job_request.whole_nodes();
    FreedByNode freed(nodes + 1, rows);  // the last one: what the cluster shares
    const auto shared = static_cast<Id>(nodes);
    Column<Amount> gives(width), kept(width), lacks(rows, 0);
    for (Size i = 0; i < jobs_.size(); ++i) {
      const RunningJob& of = job(static_cast<Id>(i));
      const Amount exclusive = workspace.jobs.exclusive[of.operation];
      for (const Id slot : workspace.slots(of)) {
        workspace.split(of, slot, gives.data(), kept.data());
        const Id node = workspace.state.node_of(slot);
        const bool here = node != kNoId && part != nullptr && job_request.allows(*part, node);
        Amount* on_node = here ? freed.add(static_cast<Id>(i), node) : nullptr;
        Amount* of_all = freed.add(static_cast<Id>(i), shared);
        for (Size r = 0; r < width; ++r)
          if (scope[r] == ResourceScope::kCluster)
            of_all[r] += workspace.settings.reclaim_licenses ? gives[r] : 0;
          else if (here)
            on_node[r] += gives[r];
        if (here) on_node[width] += alone ? 1 : exclusive;
      }
    }
    SpreadNeed need(rows);
    if (!job_request.licences_fit(base)) {
      for (Size r = 0; r < width; ++r)
        if (job_request.licences()[r] > 0)
          lacks[r] = job_request.licences()[r] - base.rooms.at(0, r);
      need.add(freed.jobs(shared), freed.amounts(shared), lacks, true);
    }
    if (part == nullptr) return need;
    need.copies = part->count;
    for (const Id n : workspace.jobs.nodes()) {
      if (!job_request.allows(*part, n)) continue;
      if (job_request.fits(*part, base, n)) {
        --need.copies;
        continue;
      }
      for (Size r = 0; r < width; ++r)
        lacks[r] = scope[r] == ResourceScope::kNode && part->amounts[r] > 0
                       ? part->amounts[r] - base.rooms.at(n, r)
                       : 0;
      lacks[width] = alone ? base.occupants[n] : base.exclusives[n];
      if (freed.covers(n, lacks)) need.add(freed.jobs(n), freed.amounts(n), lacks, false, n);
    }
    return need;
  }

  // What each job can help with, n x R.
  Column<Amount> amounts() const {
    const Workspace& workspace = chooser_.workspace_;
    const Size width = workspace.state.width();
    Column<Amount> out(jobs_.size() * width, 0);
    Column<Amount> freed(width), kept(width);
    for (Size i = 0; i < jobs_.size(); ++i) {
      const RunningJob& of = job(static_cast<Id>(i));
      for (const Id slot : workspace.slots(of)) {
        workspace.split(of, slot, freed.data(), kept.data());
        for (Size r = 0; r < width; ++r) out[i * width + r] += freed[r];
      }
    }
    return out;
  }

  // What is short at least, R: of each part on the nodes that lack least; of licences for all.
  Column<Amount> shortage() const {
    const JobRequest& job_request = chooser_.job_request_;
    const Size width = chooser_.workspace_.state.width();
    const std::vector<ResourceScope>& scope = chooser_.workspace_.state.tables().resources.scope;
    Column<Amount> out(width, 0), lacks;
    for (Size r = 0; r < width; ++r)
      if (job_request.licences()[r] > 0)
        out[r] = std::max<Amount>(job_request.licences()[r] - chooser_.base_.rooms.at(0, r), 0);
    for (const JobRequest::Part& part : job_request.parts()) {
      if (!part.takes_node) continue;
      for (Size r = 0; r < width; ++r) {
        if (scope[r] != ResourceScope::kNode || part.amounts[r] <= 0) continue;
        lacks.clear();
        for (Size n = 0; n < part.allowed().size(); ++n)
          if (job_request.allows(part, static_cast<Id>(n)))
            lacks.push_back(std::max<Amount>(
                part.amounts[r] - chooser_.base_.rooms.at(static_cast<Id>(n), r), 0));
        const auto few = std::min(lacks.size(), static_cast<Size>(part.count));
        std::ranges::nth_element(lacks, lacks.begin() + static_cast<std::ptrdiff_t>(few));
        Amount sum = 0;
        for (Size i = 0; i < few; ++i) sum += lacks[i];
        out[r] = std::max(out[r], sum);  // parts may share what was freed
      }
    }
    return out;
  }

 private:
  const RunningJob& job(Id candidate) const {
    return chooser_.workspace_.running[jobs_[candidate]];
  }

  Chooser& chooser_;
  Column<Index> jobs_;
  std::vector<Spot> scratch_;
};

void Chooser::chosen(Choice& to, VictimSelection selection, Index budget,
                     MinimumQuestion* written) {
  Column<Index> jobs;
  for (const Index i : order_)
    if (takes_[i]) jobs.push_back(i);
  Trial trial(*this, jobs);
  VictimQuestion question{
      .n = static_cast<Id>(jobs.size()), .selection = selection, .budget = budget};
  Column<Index> costs;
  std::vector<SpreadNeed> needs;
  Column<Amount> amounts, shortage;
  if (selection == VictimSelection::kMinimum) {
    question.costs = costs = trial.costs();
    question.written = written;
    if (written != nullptr) {
      *written = {};
      for (const Index i : jobs) written->candidates.push_back(workspace_.running[i].operation);
    }
    needs = trial.spread();
    if (needs.size() == 1) {
      question.spread = needs.data();
    } else {
      question.necessary = needs;
      question.amounts = amounts = trial.amounts();
      question.shortage = shortage = trial.shortage();
    }
  }
  VictimSet set = choose_victims(trial, question);
  if (selection == VictimSelection::kMinimum && !set.taken.empty() && !set.proof.proved)
    for (const bool all : {false, true})  // what the other selections would choose
      take_cheaper(trial, question, positions(jobs, others(all)), set);
  to.fits = !set.taken.empty() && trial.place(to.spots);
  if (!to.fits) return;
  to.proof = set.proof;
  mark(to);
  for (Size i = 0; i < set.considered; ++i) to.considered.push_back(jobs[i]);
  for (const Id i : set.taken) {
    const Index job = jobs[i];
    if (static_cast<Size>(i) >= set.considered) to.considered.push_back(job);
    // Of a prefix, some may have nothing where it is placed.
    if (selection != VictimSelection::kPrefix || overlaps(job) > 0 || lends(job))
      to.victims.push_back(job);
  }
  to.searched = to.victims.size();
}

}  // namespace

bool matters(const Workspace& workspace, const JobRequest& job_request, const RunningJob& job) {
  return holds_licence(workspace, job_request, job) ||
         std::ranges::any_of(workspace.nodes(job),
                             [&](Id node) { return job_request.touches(node); });
}

Choice choose(const Workspace& workspace, JobRequest& job_request, const Occupancy& base,
              const Column<Index>& candidates, bool suspends, Index budget,
              MinimumQuestion* written) {
  Choice choice;
  Chooser chooser(workspace, job_request, base, candidates, suspends);
  switch (workspace.settings.selection) {
    case Selection::kReorder:
      chooser.reordered(choice);
      break;
    case Selection::kTestOnly:
      chooser.all_at_once(choice);
      break;
    case Selection::kPrefix:
      chooser.chosen(choice, VictimSelection::kPrefix, budget);
      break;
    case Selection::kIrreducible:
      chooser.chosen(choice, VictimSelection::kIrreducible, budget);
      break;
    case Selection::kMinimum:
      chooser.chosen(choice, VictimSelection::kMinimum, budget, written);
      break;
  }
  return choice;
}

}  // namespace evenhand::slurm
