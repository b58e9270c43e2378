#include "evenhand/share/children_block.h"

#include <gtest/gtest.h>

#include <random>

#include "evenhand/share/operation_curve.h"

namespace evenhand::children_block_test {
namespace {

// A child that is drawn, with what a block needs of it.
template <int R>
struct Child {
  std::vector<Vertex<R>> curve;
  double ratio;
  bool keeps;
};

// Of amounts that are often equal, so that places are, too; gangs jump.
template <int R>
Child<R> drawn(std::mt19937& random) {
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  Row<R> usage = Row<R>::Zero(), demand = usage;
  for (int r = 0; r < R; ++r) {
    demand[r] = below(8) / 10.0;
    usage[r] = std::min(demand[r], below(4) / 10.0);
  }
  CurveBuilder<R> builder;
  build_operation_curve<R>(builder, usage, demand, filled_row<R>(1), below(5) == 0);
  const auto vertices = builder.vertices();
  return {{vertices.begin(), vertices.end()}, 1 + below(3) / 2.0, below(4) > 0};
}

template <int R>
std::vector<double> swept(const ChildrenBlock<R>& block) {
  CurveBuilder<R> builder;
  builder.keep_whole(true);
  block.sweep(builder, Row<R>::Zero(), filled_row<R>(0.9), true, false);
  std::vector<double> out;
  for (const Vertex<R>& v : builder.vertices()) {
    out.insert(out.end(), {v.s, v.at.f, static_cast<double>(v.at.jumped)});
    for (int r = 0; r < R; ++r) out.push_back(v.shares[r]);
  }
  return out;
}

// A block in which children are replaced, come and go, and one that is made of the same children.
template <int R>
void edits_give_the_bits_of_a_new_block(unsigned seed) {
  std::mt19937 random(seed);
  KeyOrder sorter;
  ChildrenBlock<R> made, edited;
  std::vector<Child<R>> children;
  const auto make = [&] {
    made.clear();
    for (const Child<R>& c : children) made.add(c.curve, c.ratio, c.keeps);
    made.sort(sorter);
  };
  for (auto i = random() % 6; i > 0; --i) children.push_back(drawn<R>(random));
  make();
  made.copy_to(edited, true);
  for (int step = 0; step < 40; ++step) {
    const std::size_t place = random() % (children.size() + 1);
    const auto where = children.begin() + static_cast<std::ptrdiff_t>(place);
    const bool there = place < children.size();
    if (there && random() % 3 == 0) {
      children.erase(where);
      edited.remove(place);
    } else {
      const Child<R> c = drawn<R>(random);
      const bool replaces = there && random() % 2 == 0;
      if (replaces)
        children[place] = c;
      else
        children.insert(where, c);
      if (replaces)
        edited.replace(place, c.curve, c.ratio, c.keeps);
      else
        edited.insert(place, c.curve, c.ratio, c.keeps);
      EXPECT_TRUE(!c.keeps || edited.has(place, c.curve, c.ratio));
    }
    make();
    ASSERT_EQ(edited.child_count(), made.child_count());
    ASSERT_EQ(swept(edited), swept(made)) << "seed " << seed << " step " << step;
    for (std::size_t i = 0; i < children.size(); ++i) {
      ASSERT_TRUE(std::ranges::equal(edited.fit_factors(i), made.fit_factors(i)));
      for (std::size_t k = 0; children[i].keeps && k < children[i].curve.size(); ++k)
        ASSERT_TRUE((edited.shares(i)[k] == made.shares(i)[k]).all());
    }
  }
}

TEST(ChildrenBlock, EditsGiveTheBitsOfANewBlock) {
  for (unsigned seed = 0; seed < 100; ++seed) {
    edits_give_the_bits_of_a_new_block<1>(seed);
    edits_give_the_bits_of_a_new_block<3>(seed);
  }
}

TEST(ChildrenBlock, KnowsAnotherCurve) {
  CurveBuilder<1> builder;
  const auto curve = [&](double usage, double demand) {
    build_operation_curve<1>(builder, filled_row<1>(usage), filled_row<1>(demand), filled_row<1>(1),
                             false);
    return builder.vertices();
  };
  ChildrenBlock<1> block;
  block.clear();
  block.add(curve(0, 0.5), 1, true);
  EXPECT_TRUE(block.has(0, curve(0.5, 0.5), 1)) << "all of it is used: the same way";
  EXPECT_FALSE(block.has(0, curve(0.25, 0.5), 1));
  EXPECT_FALSE(block.has(0, curve(0, 0.625), 1));
  EXPECT_FALSE(block.has(0, curve(0, 0.5), 2));
}

}  // namespace
}  // namespace evenhand::children_block_test
