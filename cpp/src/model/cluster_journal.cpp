// The journal of a mutable cluster: what has been recorded since a mark, and the way back.
#include <algorithm>
#include <utility>

#include "evenhand/model/cluster_state.h"

namespace evenhand {

ClusterState::Mark ClusterState::mark() {
  const bool first = !std::exchange(recording_, true);
  return {journal_.size(), first};
}

void ClusterState::take_back(Mark mark) {
  undo(mark);
  if (mark.first) forget();
}

void ClusterState::record(Change change, std::initializer_list<const Amount*> amounts,
                          const Leaving* leaving) {
  if (!recording_) return;
  change.amounts = journal_amounts_.size();
  for (const Amount* each : amounts)
    journal_amounts_.insert(journal_amounts_.end(), each, each + width_);
  change.leaves = leaving != nullptr;
  if (change.leaves) journal_leaving_.push_back(*leaving);
  journal_.push_back(change);
}

void ClusterState::undo(Mark mark) {
  recording_ = false;
  while (journal_.size() > mark.entries) {
    const Change change = journal_.back();
    journal_.pop_back();
    revert(change);
    journal_amounts_.resize(change.amounts);
    if (change.leaves) journal_leaving_.pop_back();
  }
  recording_ = true;
}

void ClusterState::forget() {
  for (const Change& c : journal_)  // cells that there is no way back to
    if (c.kind == Change::Kind::kVersion)
      with(static_cast<Table>(c.first),
           [&](auto& rows) { rows.free_version(static_cast<Id>(c.second)); });
  journal_.clear();
  journal_amounts_.clear();
  journal_leaving_.clear();
  recording_ = false;
}

void ClusterState::revert(const Change& c) {
  const std::span<const Amount> amounts = std::span(journal_amounts_).subspan(c.amounts);
  switch (c.kind) {
    case Change::Kind::kNow:
      now_ = c.first;
      break;
    case Change::Kind::kStart: {  // the last slot by now, or one that was used before
      stop(c.row);
      allocations_.take_back_row(c.row, c.first != 0);
      if (c.first != 0) break;
      operation_.pop_back();
      node_.pop_back();
      phase_.pop_back();
      last_start_.pop_back();
      if (!last_progress_.empty()) last_progress_.pop_back();
      amounts_.resize(amounts_.size() - width_);
      if (owns_held_) held_.resize(held_.size() - width_);
      break;
    }
    case Change::Kind::kEnd:
      phase_[c.row] = static_cast<Phase>(c.first);
      if (node_[c.row] != kNoId && !away(c.row)) on_node_.add(node_[c.row], c.row);
      list(c.row, true);
      if (holds(c.row)) add_usage(c.row, 1);
      if (const Amount* held = away(c.row) ? kept(c.row) : nullptr) add_usage(c.row, held, 1);
      if (c.leaves) leave(journal_leaving_.back());
      break;
    case Change::Kind::kPreempt:
      drop_leaving(c.row);
      if (c.second != 0) std::ranges::copy(amounts, row(held_, c.row));
      phase_[c.row] = static_cast<Phase>(c.first);
      add_usage(c.row, 1);
      break;
    case Change::Kind::kSuspend:
      add_usage(c.row, kept(c.row), -1);
      std::ranges::copy(amounts, row(held_, c.row));
      phase_[c.row] = static_cast<Phase>(c.first);
      if (node_[c.row] != kNoId) on_node_.add(node_[c.row], c.row);
      if (holds(c.row)) add_usage(c.row, 1);
      if (c.leaves) leave(journal_leaving_.back());
      break;
    case Change::Kind::kResume:
      add_usage(c.row, -1);
      if (node_[c.row] != kNoId) on_node_.remove(node_[c.row], c.row);
      refer(node_[c.row], -1);
      node_[c.row] = static_cast<Id>(c.first);
      refer(node_[c.row], 1);
      phase_[c.row] = Phase::kAway;
      last_start_[c.row] = c.second;
      std::ranges::copy(amounts, row(held_, c.row));
      add_usage(c.row, kept(c.row), 1);
      break;
    case Change::Kind::kTakeRoom: {
      Leaving* l = leaving_of(c.row);
      for (std::size_t r = 0; r < width_; ++r) l->left[r] += amounts[r];
      add_left(c.row, amounts.data(), 1);
      break;
    }
    case Change::Kind::kTouch:
      touch(c.row, c.first, c.second);
      break;
    case Change::Kind::kResize:
      resize(c.row, amounts);
      break;
    case Change::Kind::kPending:
      set_pending(c.row, c.first);
      break;
    case Change::Kind::kCapacity:
      set_capacity(c.row, amounts);
      break;
    case Change::Kind::kSchedulable:
      set_schedulable(c.row, c.first != 0);
      break;
    case Change::Kind::kRow:
      take_back_row(static_cast<Table>(c.first), c.row, c.second != 0);
      break;
    case Change::Kind::kVersion: {
      const auto table = static_cast<Table>(c.first);
      with(table, [&](auto& rows) {
        if (!rows.present(c.row)) gone_.pop_back();
      });
      point(table, c.row, static_cast<Id>(c.second));
      break;
    }
    case Change::Kind::kStated:
      set_stated(c.row, amounts.first(width_), amounts.last(width_));
      break;
    case Change::Kind::kBeneficiary:
      leaving_of(c.row)->beneficiary = journal_leaving_.back().beneficiary;
      break;
  }
}

}  // namespace evenhand
