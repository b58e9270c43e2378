// Jobs on many nodes that give way at least cost to copies of one request.
//
// On each node (a site) some jobs free amounts; to hold one copy more than before, a node
// must be freed of what it then lacks (a level). Wanted are so many levels in sum, and
// sites that must be freed in any case (what the whole cluster shares). Jobs on one site
// only: the cheapest cover of each level of each site (cover.h) and the cheapest choice of
// levels are exact. A job on several sites costs each of them a part, such that no choice
// of sites pays more than the job costs; for any such parts the choice bounds the cost from
// below. Where a level has few smallest covers they are listed once. Subgradient steps
// (Held, Wolfe, Crowder 1974) move the parts to where the job is used; what is left is
// branched on: a job on several sites goes, or stays.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "evenhand/core/column.h"
#include "evenhand/preempt/spread_need.h"
#include "evenhand/preempt/victims.h"

namespace evenhand {

// What proves SelectionProof::root_bound: parts of the costs, bounds of the levels.
struct SpreadProof {
  // As many of a job's parts as sites can be chosen are at most scale x cost in sum.
  Index scale = 1;
  Column<Index> part;         // of each piece, at least 1
  Column<Index> bound;        // of each level, in parts; -1: it cannot be had
  Column<double> multiplier;  // levels x width: prove a bound, if no branching did
};

class SpreadCover {
 public:
  // costs: one a job, at least 1; taken: jobs that suffice, ascending, or none: all; it is
  // replaced by the best that is found. False: all together do not suffice. At most `budget` bounds
  // in sum, those of the covers included, a choice of levels as many as it takes the time of;
  // when they are spent, the best so far stands. Without `ties`, any of the cheapest. Nothing
  // is proved of costs whose sum is so great (about 2^61 / 10'000) that parts do not add up
  // exactly.
  bool solve(const SpreadNeed& need, View<const Index> costs, Index budget, Column<Id>& taken,
             SelectionProof& proof, bool ties = true);
  // Of the last call; solves each level once more.
  SpreadProof prove(Index budget);

 private:
  using Size = std::size_t;
  static constexpr Index kNever = std::int64_t{1}
                                  << 61;  // the bound of what cannot be had: above all sums
  enum class Fixed : std::uint8_t { kOpen, kGoes, kStays };
  struct Level {
    Index bound = 0;
    Column<Id> used;  // pieces
    // All smallest covers, if they were listed: their pieces, end to end.
    bool listed = false;
    Column<Id> cover;
    std::vector<std::size_t> ends;
  };

  void begin(const SpreadNeed& need, View<const Index> costs);
  void fix(Size job, Fixed to);
  void list_covers(Size s, Size level);
  void solve_listed(Level& level) const;
  void normalise(Size job);
  void set_prices(Size job);
  bool solve_level(const SpreadNeed::Site& site, Size level);
  void solve_site(Size s);
  bool evaluate();  // false: it cannot be had
  void pick_levels();
  void pick_sites();
  void charge(Size work);
  void bound_others();
  bool refuted(Size job, Index cost);
  bool try_union();
  bool shrink(Column<Id>& jobs);
  Index reach(Size s) const;
  bool step(double by);
  Size disputed() const;
  void search(Index known, bool root);
  void first_in_order(Column<Id>& taken, bool& first);
  std::span<const Id> pieces_of(Size job) const noexcept {
    return {piece_.data() + first_piece_[job], first_piece_[job + 1] - first_piece_[job]};
  }
  // Levels of a site that can be had, of those that count.
  Size able(Size s) const noexcept {
    Size levels = 0;
    if (!need_->sites[s].must)
      while (levels < levels_[s].size() && levels_[s][levels].bound < kNever) ++levels;
    return levels;
  }
  Index least_refused() const noexcept { return refuse_ < best_cost_ ? refuse_ : best_cost_; }
  Index scaled(Index parts) const noexcept { return (parts + scale_ - 1) / scale_; }

  const SpreadNeed* need_ = nullptr;
  View<const Index> costs_;
  Index scale_ = 1;
  bool exact_ = true;      // sums of parts are
  bool one_level_ = true;  // at every site
  bool one_site_ = true;   // every job
  Size together_ = 0;      // sites that can be chosen
  Column<Size> first_piece_;
  Column<Id> piece_, site_;  // by job; of a piece
  Column<Index> part_, best_part_;
  Column<Index> price_;   // of a piece: its part, 0 if it goes, kNever if it stays
  Column<Fixed> fixed_;   // of a job
  Index fixed_cost_ = 0;  // of those that go
  Column<std::vector<Level>> levels_;
  Column<char> stale_;    // of a site
  Column<Index> chosen_;  // levels of a site
  Column<Amount> gone_;   // sites x width, of those that go
  Column<char> used_;     // of a piece, where it is chosen
  Index parts_ = 0;       // of the choice
  Column<Index> sum_, next_;
  Column<std::int32_t> from_;          // levels of a site, by what is had with it
  Column<Size> last_;                  // of a site: what is had without it, of all
  Column<Index> rows_, rest_;          // sites x had: the least cost; of the sites behind
  std::vector<Column<Index>> others_;  // of a site, by its levels: a bound of all the others
  Column<Index> own_;                  // of a site: cost of those that go
  Index work_ = 0;
  Column<Amount> got_;  // sites x width, of a set at hand
  Column<Id> order_;
  Column<Amount> lack_;
  Column<Index> largest_;
  std::vector<std::pair<Size, double>> moving_;  // jobs whose parts move, used at this share
  VictimSelector selector_;
  Column<Id> best_;
  Index best_cost_ = 0, enough_ = 0, floor_ = 0;
  Index budget_ = 0, branches_ = 0, root_ = 0;
  Index refuse_ = 0;     // sets of at least this cost are not looked for
  bool deepen_ = false;  // growing sizes
  bool spent_ = false;
  bool asking_ = false;  // for a set through all that go
};

}  // namespace evenhand
