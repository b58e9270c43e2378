#include <tuple>
#include <utility>
#include <vector>

#include "run_work.h"

namespace evenhand::slurm {

// Finds a place over jobs that share their cpus with it: off the partitions of the highest tiers
// as long as there is room on the others.
bool Run::over(const JobRequest& job_request, Occupancy base, const Column<Index>& candidates,
               std::vector<Spot>& spots) const {
  for (const Index i : candidates) workspace.give(base, of(i), 1, true);
  if (!job_request.place(base, spots)) return false;
  const auto partition = [this](Index i) {
    const Size o = at(of(i).operation);
    return std::pair{-jobs().tier[o], jobs().partition[o]};
  };
  Column<Index> order = candidates;
  std::ranges::stable_sort(order, {}, partition);
  std::vector<Spot> trial;
  for (auto i = order.begin(); i != order.end();) {
    const auto here = partition(*i);
    for (; i != order.end() && partition(*i) == here; ++i) workspace.give(base, of(*i), -1, true);
    if (!job_request.place(base, trial)) break;
    spots = trial;
  }
  return true;
}

// Which jobs do not fit beside it any more: highest tier first, then as they started, each stays
// that finds its cpus beside those before it.
Column<Index> Run::under(Id job, Occupancy room, const Column<Index>& candidates,
                         const std::vector<Spot>& spots) const {
  Column<std::uint8_t> chosen(blocked_.size(), 0), leaves(workspace.running.size(), 0);
  for (const Index i : candidates) workspace.give(room, of(i), 1, true);
  for (const Spot& spot : spots) {
    if (spot.node == kNoId) continue;
    chosen[spot.node] = 1;
    room.rooms.take(workspace.amounts(spot.request), spot.node);
  }
  const auto start = [this](Index i) {
    const Size o = at(of(i).operation);
    return std::tuple{-jobs().tier[o], of(i).start, workspace.submitted(of(i).operation)};
  };
  Column<Index> order = candidates;
  std::ranges::sort(order, {}, start);
  for (const Index i : order) {
    const bool whole = workspace.settings.whole_nodes || jobs().exclusive[job] != 0 ||
                       jobs().exclusive[of(i).operation] != 0;
    workspace.give(room, of(i), -1, true);
    for (const Id node : workspace.nodes(of(i))) {
      if (!chosen[node]) continue;
      bool full = whole;
      for (Size r = 0; r < workspace.state.width(); ++r)
        full |= set().suspend_frees[r] && room.rooms.at(node, r) < 0;
      leaves[i] |= static_cast<std::uint8_t>(full);
    }
    if (leaves[i]) workspace.give(room, of(i), 1, true);
  }
  Column<Index> out;
  for (const Index i : candidates)
    if (leaves[i]) out.push_back(i);
  return out;
}

// Once those chosen have gone, the others that share its nodes may have to wait, too.
void Run::add_those_sharing(Id job, Occupancy room, Column<Index> sharing, Choice& choice) const {
  for (const Index i : choice.victims) {
    workspace.give(room, of(i), 1);
    std::erase(sharing, i);
  }
  for (const Index i : under(job, std::move(room), sharing, choice.spots)) {
    choice.victims.push_back(i);
    if (std::ranges::find(choice.considered, i) == choice.considered.end())
      choice.considered.push_back(i);
  }
}

}  // namespace evenhand::slurm
