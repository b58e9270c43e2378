#include <algorithm>
#include <cmath>
#include <limits>

#include "evenhand/share/history/slurm_fair_tree.h"

namespace evenhand::history {
namespace {

__extension__ using Wide = unsigned __int128;

// A product of four doubles: an integer of 209 to 212 bits times 2^exponent.
struct Product {
  Wide high, low;
  int exponent;
};

Product multiply(std::span<const double, 4> x) noexcept {
  Wide pair[2] = {1, 1};
  int exponent = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    int e = 0;
    const double mantissa = std::ldexp(std::frexp(x[i], &e), 53);
    pair[i / 2] *= static_cast<std::uint64_t>(mantissa);
    exponent += e - 53;
  }
  // Schoolbook product of two numbers below 2^106 in halves of 64 bits.
  const Wide mask = ~std::uint64_t{0};
  const Wide a1 = pair[0] >> 64, a0 = pair[0] & mask, b1 = pair[1] >> 64, b0 = pair[1] & mask;
  const Wide cross = a1 * b0 + a0 * b1;  // below 2^107
  Product p{a1 * b1 + (cross >> 64), a0 * b0, exponent};
  const Wide shifted = cross << 64;
  p.low += shifted;
  if (p.low < shifted) ++p.high;
  return p;
}

void shift_left(Product& p, int bits) noexcept {
  if (bits == 0) return;
  p.high = (p.high << bits) | (p.low >> (128 - bits));
  p.low <<= bits;
}

// Level fair share of one row, as a number and as the fraction it is rounded from.
enum class Level : std::uint8_t { kZero, kFinite, kInfinite };

class Walk {
 public:
  Walk(const Forest& forest, View<const double> shares, View<const std::uint8_t> inherits,
       View<const std::uint8_t> user, View<const double> usage, const FairTreeOptions& options)
      : user_(user),
        options_(options),
        n_(shares.size()),
        level_(n_),
        shares_(shares),
        usage_(usage),
        sibling_shares_(n_),
        parent_usage_(n_),
        siblings_(dissolve(forest, inherits, user)) {
    set_levels(forest, inherits);
  }

  FairTree run() {
    out_.level.assign(n_, std::numeric_limits<double>::quiet_NaN());
    out_.factor.assign(n_, std::numeric_limits<double>::quiet_NaN());
    out_.rank.assign(n_, 0);
    for (std::size_t v = 0; v < n_; ++v)
      if (!dissolved_[v]) out_.level[v] = number_[v];
    visit();
    return std::move(out_);
  }

 private:
  // One sibling list under way.
  struct Frame {
    Column<Id> rows;
    std::size_t next = 0;
    Id previous = kNoId;
    bool tied_from_above = false;
  };

  // Children of accounts with FairShare=parent belong to the next account above.
  Forest dissolve(const Forest& forest, View<const std::uint8_t> inherits,
                  View<const std::uint8_t> user) {
    dissolved_.assign(n_, 0);
    Column<Id> parent(n_, kNoId);
    for (const Id row : forest.order) {
      dissolved_[row] = inherits[row] && !user[row];
      const Id up = forest.parent[row];
      parent[row] = up != kNoId && dissolved_[up] ? parent[up] : up;
    }
    return Forest(parent);
  }

  void set_levels(const Forest& forest, View<const std::uint8_t> inherits) {
    number_.assign(n_, 0);
    double all = 0;
    for (const Id c : forest.children(kNoId)) all += usage_[c];
    const auto set_children = [&](Id row) {
      double sum = 0;
      for (const Id c : siblings_.children(row)) {
        if (!inherits[c]) sum += shares_[c];
      }
      const double above = row == kNoId ? all : usage_[row];
      for (const Id c : siblings_.children(row)) {
        sibling_shares_[c] = sum;
        parent_usage_[c] = above;
        level_[c] = inherits[c]       ? Level::kInfinite
                    : shares_[c] == 0 ? Level::kZero
                    : usage_[c] == 0  ? Level::kInfinite
                                      : Level::kFinite;
        number_[c] = level_[c] == Level::kZero       ? 0
                     : level_[c] == Level::kInfinite ? std::numeric_limits<double>::infinity()
                                                     : (shares_[c] / sum) / (usage_[c] / above);
      }
    };
    set_children(kNoId);
    for (const Id row : siblings_.order) set_children(row);
  }

  // Sign of level fair share of a - that of b.
  int compare(Id a, Id b) const noexcept {
    if (level_[a] != level_[b]) return level_[a] < level_[b] ? -1 : 1;
    if (level_[a] != Level::kFinite) return 0;
    const double x = number_[a];
    const double y = number_[b];
    // Three roundings apart at most 2^-51; beyond that doubles cannot be wrong.
    constexpr double kSafe = 0x1p-48;
    if (!options_.exact || std::abs(x - y) > kSafe * std::max(x, y)) return (x > y) - (x < y);
    const double left[4] = {shares_[a], parent_usage_[a], sibling_shares_[b], usage_[b]};
    const double right[4] = {shares_[b], parent_usage_[b], sibling_shares_[a], usage_[a]};
    return compare_products(left, right);
  }

  Frame open(Column<Id> rows, bool tied) const {
    std::erase_if(rows, [&](Id v) { return dissolved_[v] != 0; });
    std::sort(rows.begin(), rows.end(), [&](Id a, Id b) {
      if (const int c = compare(a, b); c != 0) return c > 0;
      const bool a_user = user_[a] != 0;
      const bool b_user = user_[b] != 0;
      return a_user != b_user ? a_user : a < b;
    });
    return {std::move(rows), 0, kNoId, tied};
  }

  void visit() {
    Id rank = static_cast<Id>(std::count_if(user_.begin(), user_.end(), [](auto u) { return u; }));
    const double users = rank;
    Id shared_rank = rank;
    const auto top = siblings_.children(kNoId);
    std::vector<Frame> stack{open({top.begin(), top.end()}, false)};
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == frame.rows.size()) {
        stack.pop_back();
        continue;
      }
      const Id row = frame.rows[frame.next++];
      const bool tied =
          frame.tied_from_above || (frame.previous != kNoId && compare(frame.previous, row) == 0);
      frame.tied_from_above = false;
      frame.previous = row;
      if (user_[row]) {
        if (!tied) shared_rank = rank;
        out_.rank[row] = shared_rank;
        out_.factor[row] = shared_rank / users;
        --rank;
        continue;
      }
      const auto below = siblings_.children(row);
      Column<Id> rows(below.begin(), below.end());
      if (options_.merge_tied_accounts)
        for (; frame.next < frame.rows.size() && compare(row, frame.rows[frame.next]) == 0;
             ++frame.next) {
          const auto more = siblings_.children(frame.rows[frame.next]);
          rows.insert(rows.end(), more.begin(), more.end());
        }
      stack.push_back(open(std::move(rows), tied));  // invalidates `frame`
    }
  }

  View<const std::uint8_t> user_;
  FairTreeOptions options_;
  std::size_t n_;
  Column<Level> level_;
  View<const double> shares_, usage_;
  Column<double> sibling_shares_, parent_usage_, number_;
  Column<std::uint8_t> dissolved_;
  Forest siblings_;
  FairTree out_;
};

}  // namespace

int compare_products(std::span<const double, 4> a, std::span<const double, 4> b) noexcept {
  Product x = multiply(a);
  Product y = multiply(b);
  // Products have 209 to 212 bits: four powers of two decide.
  const int shift = x.exponent - y.exponent;
  if (shift >= 4) return 1;
  if (shift <= -4) return -1;
  shift_left(x, std::max(shift, 0));
  shift_left(y, std::max(-shift, 0));
  if (x.high != y.high) return x.high < y.high ? -1 : 1;
  return (x.low > y.low) - (x.low < y.low);
}

FairTree slurm_fair_tree(const Forest& forest, View<const double> shares,
                         View<const std::uint8_t> inherits, View<const std::uint8_t> user,
                         View<const double> usage, const FairTreeOptions& options) {
  return Walk(forest, shares, inherits, user, usage, options).run();
}

}  // namespace evenhand::history
