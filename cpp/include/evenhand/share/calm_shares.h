// How far shares of operations may move before anything else follows from them.
//
// Where many operations share what is left over, each event moves the shares of all of them by a
// little. Who reads the updates of an engine may say within which bounds an operation's share means
// the same to it: an update that stays within them does not say that the operation has changed.
#pragma once

#include <limits>

#include "evenhand/core/column.h"

namespace evenhand {

struct CalmShares {
  Column<double> bounds;         // O x 2 x R: the least and the most, inclusive
  Column<std::uint8_t> watched;  // O: is it to be said that its share has moved?
  Column<Id> moved;              // of the last update: those, where they moved within the bounds

  // Nothing that moves is calm, of later rows or of any.
  void fit(std::size_t operations, std::size_t width) {
    bounds.resize(2 * operations * width, std::numeric_limits<double>::quiet_NaN());
    watched.resize(operations, 0);
  }
  void clear() {
    bounds.clear();
    watched.clear();
    moved.clear();
  }
};

}  // namespace evenhand
