#include "shares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace evenhand::yunikorn {
namespace {

using Size = std::size_t;

constexpr Wide kFinest = Wide{1} << 60;        // parts that are finer are rounded
constexpr Wide kGrid = Wide{1} << 20;          // to these
constexpr double kWeightUnit = 1'000'000'000;  // weights have nine decimal digits

Wide divisor(Wide a, Wide b) {
  constexpr Wide kSmall = std::numeric_limits<std::int64_t>::max();
  while (b != 0 && (a > kSmall || b > kSmall)) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  if (b == 0) return a;
  return std::gcd(static_cast<std::int64_t>(a), static_cast<std::int64_t>(b));
}

Part near(long double value) {
  return {static_cast<Wide>(value * static_cast<long double>(kGrid) + 0.5L), kGrid};
}
long double about(const Part& part) {
  return static_cast<long double>(part.num) / static_cast<long double>(part.den);
}

// Of a part, so many parts of so many.
Part times(const Part& part, Wide by, Wide over) {
  const Wide both = divisor(by, over);
  const Wide left = divisor(part.num, over / both), right = divisor(by / both, part.den);
  Part out;
  if (__builtin_mul_overflow(part.num / left, by / both / right, &out.num) ||
      __builtin_mul_overflow(part.den / right, over / both / left, &out.den) || out.den > kFinest)
    return near(about(part) * static_cast<long double>(by) / static_cast<long double>(over));
  return out;
}

Part plus(const Part& a, const Part& b) {
  Part out;
  Wide left, right;
  if (__builtin_mul_overflow(a.num, b.den, &left) || __builtin_mul_overflow(b.num, a.den, &right) ||
      __builtin_add_overflow(left, right, &out.num) ||
      __builtin_mul_overflow(a.den, b.den, &out.den))
    return near(about(a) + about(b));
  const Wide both = divisor(out.num, out.den);
  out = {out.num / both, out.den / both};
  return out.den > kFinest ? near(about(out)) : out;
}

Amount whole(const Part& part) { return static_cast<Amount>(part.num / part.den); }
Amount whole_above(const Part& part) {
  return static_cast<Amount>((part.num + part.den - 1) / part.den);
}

struct Open {  // a queue that may get more
  Size place;
  Wide room, weight;
};

// Is the part of the rest that falls on its weight all that it may still get?
bool filled(const Open& one, const Part& rest, Wide weights) {
  Wide gets, needs;
  if (!__builtin_mul_overflow(rest.num, one.weight, &gets) &&
      !__builtin_mul_overflow(one.room, weights, &needs) &&
      !__builtin_mul_overflow(needs, rest.den, &needs))
    return gets >= needs;
  const Part part = times(rest, one.weight, weights);
  return part.num >= one.room * part.den;
}

class Sharing {
 public:
  Sharing(const Partition& queues, const Column<Amount>& takes, Shares& out)
      : queues_(queues), takes_(takes), out_(out) {}

  void among(Id q) {
    const auto below = slice(queues_.children_of, queues_.children[q], queues_.children[q + 1]);
    weight_.clear();
    Wide common = 0;
    for (const Id c : below) {
      weight_.push_back(std::llround(std::max(queues_.weight[c], 0.0) * kWeightUnit));
      common = divisor(common, weight_.back());
    }
    if (common > 1)
      for (Wide& one : weight_) one /= common;
    given_.resize(below.size());
    for (Size r = 0; r < queues_.width; ++r) {
      share(out_.part[at(q) * queues_.width + r], below, r);
      for (Size i = 0; i < below.size(); ++i)
        out_.part[at(below[i]) * queues_.width + r] = given_[i];
    }
  }

 private:
  void share(const Part& all, std::span<const Id> below, Size r) {
    open_.clear();
    Wide promised = 0, weights = 0;
    for (Size i = 0; i < below.size(); ++i) {
      const Size cell = at(below[i]) * queues_.width + r;
      const Amount most = takes_[cell];
      const Amount first = std::min(queues_.owed[cell], most);
      given_[i] = {first, 1};
      promised += first;
      if (first < most && weight_[i] > 0) {
        open_.push_back({i, most - first, weight_[i]});
        weights += weight_[i];
      }
    }
    if (promised * all.den > all.num) {  // more is guaranteed than there is
      for (Part& one : given_) one = times(all, one.num, promised);
      return;
    }
    Part rest{all.num - promised * all.den, all.den};
    if (rest.num == 0) return;
    std::ranges::sort(open_, [](const Open& a, const Open& b) {
      return a.room * b.weight < b.room * a.weight;  // who is full first
    });
    Size i = 0;
    for (; i < open_.size() && filled(open_[i], rest, weights); ++i) {
      given_[open_[i].place].num += open_[i].room;
      rest.num -= open_[i].room * rest.den;
      weights -= open_[i].weight;
    }
    for (; i < open_.size(); ++i) {
      Part& one = given_[open_[i].place];
      const Wide first = one.num;
      one = times(rest, open_[i].weight, weights);
      one.num += first * one.den;
    }
  }

  const Partition& queues_;
  const Column<Amount>& takes_;
  Shares& out_;
  std::vector<Wide> weight_;
  std::vector<Part> given_;
  std::vector<Open> open_;
};

// What queues can take, Q x R: leaves what they use and ask for, others what their children can,
// and none more than its max. `down`: every queue before those below it.
Column<Amount> can_take(const Partition& queues, const Column<Amount>& usage,
                        const Column<Amount>& pending, const Column<Id>& down) {
  Column<Amount> out(usage.size(), 0);
  for (Size i = down.size(); i-- > 0;) {
    const Id q = down[i];
    const auto below = slice(queues.children_of, queues.children[q], queues.children[q + 1]);
    for (Size r = 0; r < queues.width; ++r) {
      const Size cell = at(q) * queues.width + r;
      Amount most = below.empty() ? usage[cell] + pending[cell] : 0;
      for (const Id c : below) most += out[at(c) * queues.width + r];
      if ((queues.limited[q] >> r & 1U) != 0) most = std::min(most, queues.most[cell]);
      out[cell] = std::max<Amount>(most, 0);
    }
  }
  return out;
}

}  // namespace

Shares ideal_shares(const Partition& queues, const Column<Amount>& usage,
                    const Column<Amount>& pending) {
  Shares out;
  out.part.resize(usage.size());
  for (Size r = 0; r < queues.width; ++r) {
    const bool limited = (queues.limited[0] >> r & 1U) != 0;
    out.part[r] = {limited ? std::min(queues.total[r], queues.most[r]) : queues.total[r], 1};
  }
  const Column<Id> down = queues.top_down();
  const Column<Amount> takes = can_take(queues, usage, pending, down);
  Sharing sharing(queues, takes, out);
  for (const Id q : down)
    if (queues.children[q] != queues.children[q + 1]) sharing.among(q);
  out.below.reserve(usage.size());
  out.most.reserve(usage.size());
  for (const Part& part : out.part) {
    out.below.push_back(whole(part));
    out.most.push_back(whole_above(part));
  }
  return out;
}

Column<Amount> Shares::claimed(const Partition& queues, const Column<Amount>& usage,
                               const Column<std::uint8_t>& asks) const {
  Column<Amount> out;
  for (Size r = 0; r < queues.width; ++r) {
    Part sum;
    for (Id q = 0; q < queues.queues(); ++q) {
      const Size cell = at(q) * queues.width + r;
      const Part lacks{part[cell].num - usage[cell] * part[cell].den, part[cell].den};
      if (asks[q] != 0 && lacks.num > 0) sum = plus(sum, lacks);
    }
    out.push_back(whole_above(sum));
  }
  return out;
}

}  // namespace evenhand::yunikorn
