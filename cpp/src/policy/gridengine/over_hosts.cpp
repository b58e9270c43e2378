// Who leaves so that the parts of a job find hosts, as few as can be.
#include <algorithm>
#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "evenhand/core/poll.h"
#include "run.h"

namespace evenhand::gridengine {
namespace {

constexpr Index kMostParts = 64;      // of a job, and victims: else as jobs on several hosts
constexpr Index kMostTrials = 4'096;  // sets tried on a host

}  // namespace

// Each candidate is on one host, so that what a host can hold depends on those that leave there:
// its profile says how many parts fit once so many have gone. The best choice over all hosts is the
// sum of profiles at the best split of the victims (a knapsack). Hosts with the same profile are a
// class: of each no more than there are victims matter.
//
// A profile is first guessed from above, by the most that any one job on the host has there; it is
// made exact, by trying sets on that host, once the best choice of guesses goes through it. Then
// candidates are taken in their order, each that some smallest set goes through, given those
// before.
struct Run::OverHosts {
  using Profile = std::basic_string<char>;  // parts that fit, by how many have gone: 0 .. most_
  struct Host {
    Id kind = kNoId;
    bool exact = false;
  };
  struct Kind {
    Profile parts;
    bool exact;
    Index count = 0;
    Column<Id> hosts;  // guesses only: those that are in it, or were
  };
  struct Stage {  // of the knapsack: a host of a kind more
    Id kind;
    Column<Index> before;
  };

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
    const Column<Id> known = quick_set();
    if (known.empty()) return Column<Provider*>();
    if (known.rows() > kMostParts) return std::nullopt;
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
    return run.state_.node_of(run.providers_[at(provider)].slots.front());
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
    Index sum = 0, with_all = 0;
    Column<Id> taken;
    for (const Id n : run.nodes_)
      if (run.allowed(unit, n)) {
        now_[n] = parts_on(n);
        sum += now_[n];
        with_all += at_most(n, largest(n, lower_on(n)));
      }
    if (with_all < unit.count) return {};
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

  Id kind_of(const Profile& parts, bool exact) {
    const auto [found, fresh] = number_.try_emplace((exact ? 'e' : 'g') + parts, kinds_.size());
    if (fresh) kinds_.push_back({parts, exact, 0, {}});
    return static_cast<Id>(found->second);
  }
  void put(Id n, const Profile& parts, bool exact) {
    Host& host = host_[n];
    if (host.kind != kNoId) --kinds_[at(host.kind)].count;
    host.exact = exact;
    host.kind = parts.back() == 0 ? kNoId : kind_of(parts, exact);
    if (host.kind == kNoId) return;
    ++kinds_[at(host.kind)].count;
    if (!exact) kinds_[at(host.kind)].hosts.push_back(n);
  }
  void guess() {
    host_.resize(at(run.rooms_.nodes()));
    Profile parts;
    for (const Id n : run.nodes_) {
      if (now_[n] < 0) continue;
      const Index jobs = lower_on(n);
      parts.assign(1, static_cast<char>(now_[n]));
      for (Index m = 1; m <= most_; ++m)
        parts.push_back(m > jobs ? parts.back() : static_cast<char>(at_most(n, largest(n, m))));
      put(n, parts, false);
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

  // Parts on all hosts but one of a kind, by victims; with what is guessed, or for certain.
  const Column<Index>& best_without(Id kind, bool guesses) {
    if (kind != kNoId && kinds_[at(kind)].parts[0] == 0 && kinds_[at(kind)].count > most_)
      kind = kNoId;  // one more or less of it makes no difference
    auto& known = best_[guesses ? 1 : 0];
    known.resize(kinds_.size() + 1);
    Column<Index>& sum = known[at(kind + 1)];
    if (!sum.empty()) return sum;
    sum.assign(at(static_cast<Id>(most_)) + 1, 0);
    fill(sum, kind, guesses, nullptr);
    return sum;
  }
  void fill(Column<Index>& sum, Id without, bool guesses, std::vector<Stage>* stages) const {
    Column<Index> next;
    for (Id k = 0; k < static_cast<Id>(kinds_.size()); ++k) {
      const Kind& kind = kinds_[at(k)];
      // Of what holds parts without victims all matter, of the rest as many as there are victims.
      const Index count = kind.count - (k == without ? 1 : 0), free = kind.parts[0];
      if (!guesses && !kind.exact) {  // those are no guess
        for (Index& s : sum) s += count * free;
        continue;
      }
      for (Index c = 0; c < std::min(count, most_ + 1); ++c) {
        next = sum;
        for (Size m = 0; m < sum.size(); ++m)
          for (Size v = 0; v <= m; ++v)
            next[m] = std::max<Index>(next[m], sum[m - v] + kind.parts[v]);
        if (next == sum) break;
        if (stages != nullptr) stages->push_back({k, sum});
        sum.swap(next);
      }
      if (count > most_ + 1)
        for (Index& s : sum) s += (count - most_ - 1) * free;
    }
  }
  void forget() {
    for (auto& known : best_) known.clear();
  }
  // Makes those guesses exact that the best choice goes through; false: there are none.
  bool refine(Id without, Id spared, Index victims) {
    std::vector<Stage> stages;
    Column<Index> sum(at(static_cast<Id>(most_)) + 1, 0);
    fill(sum, without, true, &stages);
    Column<Id> wanted;
    Size m = at(static_cast<Id>(victims));
    for (Size s = stages.size(); s-- > 0;) {
      const Kind& kind = kinds_[at(stages[s].kind)];
      const Column<Index>& before = stages[s].before;
      Index best = -1;
      Size used = 0;
      for (Size v = 0; v <= m; ++v)
        if (const Index has = before[m - v] + kind.parts[v]; has > best) {
          best = has;
          used = v;
        }
      if (best <= before[m]) continue;
      m -= used;
      if (!kind.exact && used > 0) wanted.push_back(stages[s].kind);
    }
    bool any = false;
    for (const Id k : wanted) {
      Column<Id>& of = kinds_[at(k)].hosts;
      while (!of.empty() && host_[of.back()].kind != k) of.pop_back();
      if (of.size() > 1 && of.back() == spared) std::swap(of.back(), of.front());
      while (!of.empty() && host_[of.back()].kind != k) of.pop_back();
      if (of.empty() || of.back() == spared) continue;
      any = true;
      const Id n = of.back();
      put(n, tried(n, most_), true);
    }
    forget();
    return any;
  }
  // Can all hosts, but one, hold so many parts with so many victims more?
  bool reaches(Index victims, Id without, Index parts) {
    poll();
    const auto m = at(static_cast<Id>(victims));
    for (;;) {
      const Id kind = without == kNoId ? kNoId : host_[without].kind;
      if (best_without(kind, true)[m] < parts) return false;
      if (best_without(kind, false)[m] >= parts) return true;
      if (!refine(kind, without, victims) || spent_) return !spent_;
    }
  }

  // By kind, the most parts with so many victims, at least one of them on such a host.
  void look_through(Index victims) {
    const Column<Index>& all = best_without(kNoId, true);
    through_.assign(kinds_.size(), 0);
    for (Size k = 0; k < kinds_.size(); ++k)
      for (Index v = 1; v <= victims; ++v)
        through_[k] = std::max<Index>(through_[k], kinds_[k].parts[at(static_cast<Id>(v))] +
                                                       all[at(static_cast<Id>(victims - v))]);
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
    const Column<Index>& others = best_without(kNoId, true);
    for (Index m = 0; m <= left; ++m)
      if (at_most(n, beside_.data(), largest(n, m)) + others[at(static_cast<Id>(left - m))] >=
          unit.count)
        return true;
    return false;
  }

  Column<Id> first(Index size) {
    Column<Id> found;
    through_.clear();
    for (Size k = 0; k < order_->size() && found.rows() < size && !spent_; ++k) {
      const Id i = (*order_)[k], n = node_of(i);
      if (n == kNoId || host_[n].kind == kNoId ||
          run.providers_[at(i)].priority >= question.entry->priority)
        continue;
      const Index left = size - found.rows() - 1;
      if (through_.size() < kinds_.size()) look_through(left + 1);
      if (through_[host_[n].kind] < unit.count || !may_go(i, n, left) || !candidate(i)) continue;
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
      put(n, parts, true);
      forget();
      through_.clear();
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
  bool spent_ = false;
  Column<Index> now_;       // by node: parts that fit now; -1: it may not run there
  Column<Host> host_;       // by node
  Column<Column<Id>> own_;  // by node: those taken for certain
  std::vector<Kind> kinds_;
  std::unordered_map<std::string, Size> number_;
  std::vector<Column<Index>> best_[2];  // by the kind that is left out, after none
  Column<Id> open_;
  Column<Amount> behind_, sorted_, beside_;
  Column<Index> through_;
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
