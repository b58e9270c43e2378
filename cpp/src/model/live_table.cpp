#include "evenhand/model/live_table.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "evenhand/model/columns.h"
#include "evenhand/model/visit_columns.h"

namespace evenhand {
namespace {

template <class Member>
struct ColumnOf;
template <class Cells, class Columns>
struct ColumnOf<Cells Columns::*> {
  using Type = Cells;
};

template <class T>
bool same(T a, T b) {
  return a == b || (a != a && b != b);  // no order is no order
}

Column<Id> words_in_order(const Column<std::string_view>& words, StringColumn& values) {
  Column<Id> sorted(words.size()), place(words.size());
  for (Id i = 0; i < sorted.rows(); ++i) sorted[i] = i;
  std::ranges::sort(sorted, {}, [&](Id i) { return words[i]; });
  for (const Id i : sorted) {
    place[i] = static_cast<Id>(values.size());
    values.push_back(words[i]);
  }
  return place;
}

// Numbers codes in the order of coming; then their words, sorted, are all in use.
class Recode {
 public:
  Id of(Id code) {
    if (code >= seen_.rows()) seen_.resize(at(code) + 1, kNoId);
    Id& found = seen_[code];
    if (found == kNoId) {
      found = codes_.rows();
      codes_.push_back(code);
    }
    return found;
  }
  template <class Word>
  void finish(StringColumn& values, Column<Id>& codes, Word&& word) const {
    Column<std::string_view> words;
    for (const Id code : codes_) words.push_back(word(code));
    const Column<Id> place = words_in_order(words, values);
    for (Id& code : codes)
      if (code != kNoId) code = place[code];
  }

 private:
  Column<Id> seen_, codes_;
};

}  // namespace

template <class Columns>
struct LiveTable<Columns>::Other {
  LiveTable& to;
  const Columns& from;
  Id row;

  template <class T>
  const T* cells(Column<T> Columns::* column, std::size_t width) const {
    return (from.*column).empty() ? nullptr : (from.*column).row(row, width);
  }
  Id code(TextColumn Columns::* column, std::size_t number) const {
    const Id its = at_or((from.*column).codes, row, kNoId);
    return its == kNoId ? kNoId : to.intern(column, number, (from.*column).values[its]);
  }
  std::vector<Id> list(TextListColumn Columns::* column, std::size_t number) const {
    const TextListColumn& texts = from.*column;
    std::vector<Id> codes;
    for (const Id code : texts.of(row))
      codes.push_back(to.intern(column, number, texts.values[code]));
    return codes;
  }
};

template <class Columns>
struct LiveTable<Columns>::Own {
  LiveTable& to;
  Id row;

  template <class T>
  const T* cells(Column<T> Columns::* column, std::size_t width) const {
    const Id v = to.version(row);
    const Column<T>& cells = v == kOfSnapshot ? to.base_->*column : to.own_.*column;
    const Id place = v == kOfSnapshot ? row : v;
    return place < 0 || cells.empty() ? nullptr : cells.row(place, width);
  }
  Id code(TextColumn Columns::* column, std::size_t) const { return to.code(column, row); }
  std::span<const Id> list(TextListColumn Columns::* column, std::size_t) const {
    return to.list(column, row);
  }
};

template <class Columns>
template <class Texts>
Id LiveTable<Columns>::intern(Texts Columns::* column, std::size_t number, std::string_view word) {
  const StringColumn& known = (base_->*column).values;
  Index low = 0;
  for (Index high = known.size(); low < high;) {
    const Index middle = low + (high - low) / 2;
    if (known[middle] < word)
      low = middle + 1;
    else
      high = middle;
  }
  if (low < known.size() && known[low] == word) return static_cast<Id>(low);
  if (words_.size() <= number) words_.resize(number + 1);
  const auto found = words_[number].find(word);
  if (found != words_[number].end()) return found->second;
  StringColumn& values = (own_.*column).values;
  const auto code = static_cast<Id>(known.size() + values.size());
  values.push_back(word);
  words_[number].emplace(word, code);
  return code;
}

template <class Columns>
template <class Source>
Id LiveTable<Columns>::write_cells(const Source& source, Index note) {
  Id place = notes_.rows();
  if (free_versions_.empty()) {
    notes_.push_back(note);
  } else {
    place = free_versions_.back();
    free_versions_.pop_back();
    notes_[place] = note;
  }
  std::size_t number = 0;
  visit_members(&own_, [&]<class Member>(std::string_view, Member member, const auto& cells) {
    using Cells = typename ColumnOf<Member>::Type;
    if constexpr (std::is_same_v<Cells, TextColumn>) {
      const Id code = source.code(member, number++);
      Column<Id>& codes = (own_.*member).codes;
      if (code == kNoId && codes.empty()) return;
      if (codes.size() < notes_.size()) codes.resize(notes_.size(), kNoId);
      codes[place] = code;
    } else if constexpr (std::is_same_v<Cells, TextListColumn>) {
      const auto codes = source.list(member, number++);  // stays where it is as the lists move
      if (codes.empty() && lists_.rows() <= place) return;
      if (lists_.size() < notes_.size()) lists_.resize(notes_.size());
      lists_[place].assign(codes.begin(), codes.end());
    } else if constexpr (!std::is_same_v<Cells, NameColumn>) {
      using T = typename Cells::value_type;
      const std::size_t width = cells.each ? width_ : 1;
      std::array<T, kMaxResources> values;  // a copy: the column may move
      const T* found = source.cells(member, width);
      bool all = true;
      for (std::size_t r = 0; r < width; ++r) {
        values[r] = found == nullptr ? cells.absent : found[r];
        all = all && same(values[r], cells.absent);
      }
      Cells& own = own_.*member;
      if (own.empty() && cells.sparse && all) return;
      if (own.size() < notes_.size() * width) own.resize(notes_.size() * width, cells.absent);
      std::copy_n(values.begin(), width, own.row(place, width));
    }
  });
  return place;
}

template <class Columns>
Id LiveTable<Columns>::write(const Columns& from, Id row, Index note) {
  return write_cells(Other{*this, from, row}, note);
}

template <class Columns>
Id LiveTable<Columns>::write_again(Id row) {
  return write_cells(Own{*this, row}, note(row));
}

template <class Columns>
void LiveTable<Columns>::set_text(TextColumn Columns::* column, Id version, std::string_view text) {
  std::size_t number = 0;
  visit_members(&own_, [&]<class Member>(std::string_view, Member member, const auto&) {
    if constexpr (std::is_same_v<Member, TextColumn Columns::*>) {
      if (member == column) {
        Column<Id>& codes = (own_.*member).codes;
        const Id code = text.empty() ? kNoId : intern(member, number, text);
        if (code == kNoId && codes.empty()) return;
        if (codes.size() < notes_.size()) codes.resize(notes_.size(), kNoId);
        codes[version] = code;
      }
      ++number;
    } else if constexpr (std::is_same_v<Member, TextListColumn Columns::*>) {
      ++number;
    }
  });
}

template <class Columns>
Id LiveTable<Columns>::new_row(bool& again) {
  again = !free_rows_.empty();
  const Id row = again ? free_rows_.back() : rows();
  if (again)
    free_rows_.pop_back();
  else
    later_.push_back(kBare);
  later_[row - snapshot_rows_] = kBare;
  keys_.add(row);
  return row;
}

template <class Columns>
void LiveTable<Columns>::take_back_row(Id row, bool again) {
  if (again) {
    later_[row - snapshot_rows_] = kRemoved;
    free_rows_.push_back(row);
  } else {
    later_.pop_back();
    keys_.pop();
  }
}

template <class Columns>
void LiveTable<Columns>::point(Id row, Id version) {
  if (row < snapshot_rows_) {
    if (moved_.empty()) moved_.assign(at(snapshot_rows_), kOfSnapshot);
    moved_[row] = version;
    return;
  }
  Id& mine = later_[row - snapshot_rows_];
  if (mine >= 0 && version < 0) keys_.leave(row);
  if (mine < 0 && version >= 0) keys_.enter(row);
  mine = version;
}

template <class Columns>
Columns LiveTable<Columns>::gather(std::span<const Id> rows) const {
  Columns out;
  for (const Id row : rows) out.names.text.push_back(keys_.name(row));
  if (std::ranges::any_of(rows, [&](Id row) { return keys_.is_integer(row); }))
    for (const Id row : rows) out.names.is_integer.push_back(keys_.is_integer(row));
  visit_members(&own_, [&]<class Member>(std::string_view, Member member, const auto& cells) {
    using Cells = typename ColumnOf<Member>::Type;
    Cells& to = out.*member;
    if constexpr (std::is_same_v<Cells, TextColumn>) {
      Recode recode;
      Column<Id> codes;
      bool any = false;
      for (const Id row : rows) {
        const Id its = code(member, row);
        codes.push_back(its == kNoId ? kNoId : recode.of(its));
        any = any || its != kNoId;
      }
      if (!any) return;
      recode.finish(to.values, codes, [&](Id its) { return word(member, its); });
      to.codes = std::move(codes);
    } else if constexpr (std::is_same_v<Cells, TextListColumn>) {
      Recode recode;
      for (const Id row : rows) {
        for (const Id its : list(member, row)) to.codes.push_back(recode.of(its));
        to.offsets.push_back(to.codes.rows());
      }
      if (to.codes.empty()) to.offsets = {0};
      recode.finish(to.values, to.codes, [&](Id its) { return word(member, its); });
    } else if constexpr (!std::is_same_v<Cells, NameColumn>) {
      if (cells.sparse && (base_->*member).empty() && (own_.*member).empty()) return;
      const std::size_t width = cells.each ? width_ : 1;
      to.resize(rows.size() * width, cells.absent);
      bool any = false;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Id v = version(rows[i]);
        const Cells& from = v == kOfSnapshot ? base_->*member : own_.*member;
        const Id place = v == kOfSnapshot ? rows[i] : v;
        if (place < 0 || from.empty()) continue;
        for (std::size_t r = 0; r < width; ++r) {
          to[i * width + r] = from.row(place, width)[r];
          any = any || !same(to[i * width + r], cells.absent);
        }
      }
      if (cells.sparse && !any) to = {};
    }
  });
  return out;
}

template <class Columns>
std::size_t LiveTable<Columns>::memory_bytes() const noexcept {
  std::size_t bytes =
      (free_versions_.capacity() + free_rows_.capacity() + moved_.capacity() + later_.capacity()) *
          sizeof(Id) +
      notes_.capacity() * sizeof(Index);
  visit_members(&own_, [&]<class Member>(std::string_view, Member member, const auto&) {
    if constexpr (requires { typename ColumnOf<Member>::Type::value_type; })
      bytes += (own_.*member).capacity() * sizeof((own_.*member)[0]);
  });
  return bytes;
}

template class LiveTable<OperationColumns>;
template class LiveTable<NodeColumns>;
template class LiveTable<AllocationColumns>;
template class LiveTable<RequestColumns>;
template class LiveTable<ReservationColumns>;

}  // namespace evenhand
