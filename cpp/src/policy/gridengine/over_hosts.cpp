// Who leaves so that the parts of a job find hosts, as few as can be.
#include <algorithm>

#include "evenhand/core/poll.h"
#include "host_kinds.h"
#include "run.h"

namespace evenhand::gridengine {
namespace {

constexpr Index kMostParts = 64;      // of a job, and victims: else as jobs on several hosts
constexpr Index kMostTrials = 4'096;  // sets tried on a host

}  // namespace

// Each candidate is on one host, so that what a host can hold depends on those that leave there
// (host_kinds.h). A profile is first guessed from above, by the most that so many jobs on the host
// have; it is made exact, by trying sets on that host, once the best choice of guesses goes through
// it. Then candidates are taken in their order, each that some smallest set goes through, given
// those before.
struct Run::OverHosts {
  using Profile = HostKinds::Profile;

  OverHosts(Run& r, const Question& q, const Hosts& h)
      : run(r),
        question(q),
        hosts(h),
        unit(q.entry->units[0]),
        now(r.state_.now()),
        until(after(now, q.entry->duration)) {}

  // Nothing: too much to try. The first of the smallest sets; none suffices: none.
  std::optional<Column<Provider*>> find(const Column<Id>& order) {
    order_ = &order;
    own_.resize(at(run.rooms_.nodes()));
    // What is done with a job depends on what other hosts could have before any has gone.
    for (Size r = 0; question.action == Asked::kConfigured && r < run.width_; ++r)
      if (unit.need[r] > 0 && run.resources().scope[r] != ResourceScope::kCluster)
        run.room_for(question, r, unit.need[r] * unit.count);
    const Column<Id> known = quick_set();
    if (with_all_ < unit.count) return Column<Provider*>();
    if (known.empty() || known.rows() > kMostParts) return std::nullopt;
    most_ = known.rows();
    guess();
    Index size = 0;  // of the smallest
    for (; size < most_ && !reaches(size, kNoId, unit.count) && !spent_; ++size) {
    }
    const Column<Id> found = first(size);
    if (spent_ || found.rows() < size) return std::nullopt;
    Column<Provider*> victims;
    for (const Id i : found) victims.push_back(&run.providers_[at(i)]);
    return victims;
  }

 private:
  Id node_of(Id provider) const {
    const std::span<const Id> slots = run.providers_[at(provider)].slots;
    return slots.empty() ? kNoId : run.state_.node_of(slots.front());
  }
  bool candidate(Id provider) {
    return run.verdict(run.providers_[at(provider)], question) == Outcome::kTaken;
  }
  // What is done with a job depends on what its host lacks before any of them has gone.
  void judge_all(Id n) {
    for (Id k = hosts.first[n]; k < hosts.first[at(n) + 1]; ++k) candidate(hosts.provider[k]);
  }
  void give(Id provider, Amount sign) { run.give(run.providers_[at(provider)], sign); }
  // How many parts a host can hold from now on.
  Index parts_on(Id n) const {
    Index most = unit.count;
    for (Size r = 0; r < run.width_; ++r)
      if (unit.need[r] > 0 && run.resources().scope[r] != ResourceScope::kCluster)
        most = std::min<Index>(most, std::max<Amount>(run.rooms_.at(n, r), 0) / unit.need[r]);
    return most > 0 ? run.calendar_.copies(n, unit.need, now, until, most) : 0;
  }
  // No more than this, with so much more room there; none: with none.
  Index at_most(Id n, const Amount* more, const Amount* and_more = nullptr) const {
    Index most = unit.count;
    for (Size r = 0; r < run.width_ && most > 0; ++r)
      if (unit.need[r] > 0 && run.resources().scope[r] != ResourceScope::kCluster) {
        const Amount room = run.rooms_.at(n, r) + (more != nullptr ? more[r] : 0) +
                            (and_more != nullptr ? and_more[r] : 0);
        most = room < unit.need[r] ? 0 : std::min<Index>(most, room / unit.need[r]);
      }
    return most;
  }
  // The most that so many of the jobs there have: R.
  const Amount* largest(Id n, Index jobs) const {
    const Index all = hosts.first[at(n) + 1] - hosts.first[n];
    if (jobs == 0 || all == 0) return nullptr;
    return hosts.largest.row(hosts.first[n] + static_cast<Id>(std::min(jobs, all)) - 1, run.width_);
  }
  Index lower_on(Id n) const {  // jobs of lower priority
    const auto begin = hosts.priority.begin() + hosts.first[n];
    return std::lower_bound(begin, hosts.priority.begin() + hosts.first[at(n) + 1],
                            question.entry->priority) -
           begin;
  }

  // The first ones that suffice, without those that are not needed.
  Column<Id> quick_set() {
    now_.assign(at(run.rooms_.nodes()), -1);
    Index sum = 0;
    Column<Id> taken;
    for (const Id n : run.nodes_)
      if (run.may_start(*question.entry, unit, n)) {
        now_[n] = parts_on(n);
        sum += now_[n];
        with_all_ += at_most(n, largest(n, lower_on(n)));
      }
    if (with_all_ < unit.count) return {};
    Column<Index> parts = now_;
    const auto change = [&](Id i, Amount sign) {
      give(i, sign);
      Index& before = parts[node_of(i)];
      const Index has = parts_on(node_of(i));
      sum += has - before;
      before = has;
    };
    for (Size k = 0; k < order_->size() && sum < unit.count; ++k) {
      const Id i = (*order_)[k], n = node_of(i);
      if (n == kNoId || parts[n] < 0) continue;
      judge_all(n);
      if (!candidate(i)) continue;
      change(i, 1);
      taken.push_back(i);
    }
    const bool fits = sum >= unit.count;
    Column<Id> kept;
    for (Size k = taken.size(); k-- > 0;) {
      change(taken[k], -1);
      if (!fits || sum >= unit.count) continue;
      change(taken[k], 1);
      kept.push_back(taken[k]);
    }
    for (const Id i : kept) give(i, -1);
    return kept;
  }

  void guess() {
    kinds_.begin(run.rooms_.nodes(), most_);
    Profile parts;
    for (const Id n : run.nodes_) {
      if (now_[n] < 0) continue;
      const Index jobs = lower_on(n);
      parts.assign(1, static_cast<char>(now_[n]));
      for (Index m = 1; m <= most_; ++m)
        parts.push_back(m > jobs ? parts.back() : static_cast<char>(at_most(n, largest(n, m))));
      kinds_.put(n, parts, false);
    }
  }

  // The most that 1, 2 .. `left` of the open ones from each on have: open x left x R.
  void sum_largest(Size left) {
    const Size width = run.width_, jobs = open_.size();
    behind_.assign(jobs * left * width, 0);
    sorted_.assign(width * (left + 1), 0);  // by resource, the largest first
    for (Size k = jobs; k-- > 0;)
      for (Size r = 0; r < width; ++r) {
        Amount* const most = sorted_.data() + r * (left + 1);
        Amount has = 0;
        for (const Id slot : run.providers_[at(open_[k])].slots) has += run.state_.amounts(slot)[r];
        Size to = left;
        for (; to > 0 && most[to - 1] < has; --to) most[to] = most[to - 1];
        most[to] = has;
        Amount sum = 0;
        for (Size m = 0; m < left; ++m) behind_[(k * left + m) * width + r] = sum += most[m];
      }
  }

  // What a host can hold, with those that are taken for certain gone, by trying. `left`: victims.
  Profile tried(Id n, Index left) {
    open_.clear();
    for (Id k = hosts.first[n]; k < hosts.first[at(n) + 1]; ++k)
      if (const Id i = hosts.provider[k];
          std::ranges::find(own_[n], i) == own_[n].end() &&
          run.providers_[at(i)].priority < question.entry->priority && candidate(i))
        open_.push_back(i);
    left = std::min<Index>(left, open_.rows());
    sum_largest(at(static_cast<Id>(left)));
    for (const Id i : own_[n]) give(i, 1);
    Profile best(at(static_cast<Id>(most_)) + 1, 0);
    Index trials = 0;
    const auto found = [&](Index gone) {
      const auto parts = static_cast<char>(parts_on(n));
      for (Size m = at(static_cast<Id>(gone)); m < best.size() && best[m] < parts; ++m)
        best[m] = parts;
    };
    found(0);
    const Size width = run.width_;
    const auto extend = [&](auto& self, Size from, Index gone) -> void {
      for (Size k = from; k < open_.size() && gone < left; ++k) {
        bool better = false;
        for (Index m = 1; gone + m <= left && !better; ++m)
          better = at_most(n, behind_.data() +
                                  (k * at(static_cast<Id>(left)) + at(static_cast<Id>(m)) - 1) *
                                      width) > best[at(static_cast<Id>(gone + m))];
        if (!better) return;
        if (++trials > kMostTrials) {
          spent_ = true;
          return;
        }
        give(open_[k], 1);
        found(gone + 1);
        self(self, k + 1, gone + 1);
        give(open_[k], -1);
      }
    };
    extend(extend, 0, 0);
    for (const Id i : own_[n]) give(i, -1);
    return best;
  }

  // Can all hosts, but one, hold so many parts with so many victims more?
  bool reaches(Index victims, Id without, Index parts) {
    poll();
    const auto m = at(static_cast<Id>(victims));
    for (;;) {
      const Id kind = without == kNoId ? kNoId : kinds_.of(without);
      if (kinds_.best_without(kind, true)[m] < parts) return false;
      if (kinds_.best_without(kind, false)[m] >= parts) return true;
      const Column<Id> guessed = kinds_.guessed(kind, without, victims);
      for (const Id n : guessed) kinds_.put(n, tried(n, most_), true);
      if (guessed.empty()) return true;
      if (spent_) return false;
    }
  }

  // Whether a smallest set may go through it, by what it and those beside it have.
  bool may_go(Id i, Id n, Index left) {
    beside_.assign(run.width_, 0);
    const auto add = [&](Id job) {
      for (const Id slot : run.providers_[at(job)].slots)
        for (Size r = 0; r < run.width_; ++r) beside_[r] += run.state_.amounts(slot)[r];
    };
    add(i);
    for (const Id taken : own_[n]) add(taken);
    const Column<Index>& others = kinds_.best_without(kNoId, true);
    for (Index m = 0; m <= left; ++m)
      if (at_most(n, beside_.data(), largest(n, m)) + others[at(static_cast<Id>(left - m))] >=
          unit.count)
        return true;
    return false;
  }

  Column<Id> first(Index size) {
    Column<Id> found;
    for (Size k = 0; k < order_->size() && found.rows() < size && !spent_; ++k) {
      const Id i = (*order_)[k], n = node_of(i);
      if (n == kNoId || kinds_.of(n) == kNoId ||
          run.providers_[at(i)].priority >= question.entry->priority)
        continue;
      const Index left = size - found.rows() - 1;
      if (kinds_.through(kinds_.of(n), left + 1) < unit.count || !may_go(i, n, left) ||
          !candidate(i))
        continue;
      own_[n].push_back(i);
      const Profile parts = tried(n, left);
      bool able = false;
      for (Index m = 0; m <= left && !able && !spent_; ++m)
        able = reaches(left - m, n, unit.count - parts[at(static_cast<Id>(m))]);
      if (!able) {
        own_[n].pop_back();
        continue;
      }
      found.push_back(i);
      kinds_.put(n, parts, true);
    }
    return found;
  }

  Run& run;
  const Question& question;
  const Hosts& hosts;
  const Unit& unit;
  Time now, until;
  const Column<Id>* order_ = nullptr;
  Index most_ = 0;
  Index with_all_ = 0;  // no more parts than this fit, whoever leaves
  bool spent_ = false;
  Column<Index> now_;       // by node: parts that fit now; -1: it may not run there
  Column<Column<Id>> own_;  // by node: those taken for certain
  HostKinds kinds_;
  Column<Id> open_;
  Column<Amount> behind_, sorted_, beside_;
};

// Where each candidate is on one host, and nothing that the cluster shares is in the way.
std::optional<Column<Provider*>> Run::over_hosts(const Question& question) {
  const Entry& entry = *question.entry;
  if (entry.units.size() != 1 || entry.units[0].slot != kNoId) return std::nullopt;
  const Unit& unit = entry.units[0];
  if (unit.count > kMostParts || nodes_.empty()) return std::nullopt;
  bool wide = false;
  for (Size r = 0; r < width_; ++r) {
    if (resources().scope[r] != ResourceScope::kCluster || unit.need[r] <= 0) continue;
    wide = true;
    for (const Mode mode : {Mode::kPreempt, Mode::kEnhancedSuspend, Mode::kSuspend})
      if (!frees(mode, r)) return std::nullopt;
  }
  const Time until = after(state_.now(), entry.duration);
  if (wide &&
      calendar_.copies(calendar_.shared(), unit.need, state_.now(), until, unit.count) < unit.count)
    return std::nullopt;
  const Column<Id> order = order_of(question);
  std::optional<Hosts> named;
  if (!question.named.empty()) named = by_host(order);
  if (!named && !hosts_) hosts_ = by_host(in_order_);
  const Hosts& hosts = named ? *named : *hosts_;
  if (hosts.spread) return std::nullopt;
  return OverHosts(*this, question, hosts).find(order);
}

}  // namespace evenhand::gridengine
