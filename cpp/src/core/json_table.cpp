#include "evenhand/core/json_table.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <unordered_map>

#include "evenhand/core/json_text.h"

namespace evenhand {
namespace {

using Form = JsonColumn::Form;

enum Kind : std::uint8_t {
  kInteger = 1,
  kReal = 2,
  kFlag = 4,
  kText = 8,
  kList = 16,
  kObject = 32
};

// Reads text that is known to be valid JSON.
class Cursor {
 public:
  Cursor(std::string_view text, std::size_t at) : text_(text), at_(at) {}

  std::size_t at() const noexcept { return at_; }
  char peek() {
    while (is_json_space(text_[at_])) ++at_;
    return text_[at_];
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  // What stands between the quotes of the text that begins here.
  std::string_view string() {
    const std::size_t first = ++at_;
    while (text_[at_] != '"') at_ += text_[at_] == '\\' ? 2u : 1u;
    return text_.substr(first, at_++ - first);
  }

  // A number, true, false or null.
  std::string_view scalar() {
    const std::size_t first = at_;
    while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '}' && text_[at_] != ']' &&
           !is_json_space(text_[at_]))
      ++at_;
    return text_.substr(first, at_ - first);
  }

  std::string_view value() {
    const std::size_t first = at_;
    int depth = 0;
    do {
      switch (text_[at_]) {
        case '"':
          string();
          continue;
        case '{':
        case '[':
          ++depth;
          break;
        case '}':
        case ']':
          --depth;
          break;
        default:
          if (depth == 0) return scalar();
      }
      ++at_;
    } while (depth > 0);
    return text_.substr(first, at_ - first);
  }

 private:
  std::string_view text_;
  std::size_t at_;
};

Kind kind_of(std::string_view text, std::size_t at) {
  switch (text[at]) {
    case '"':
      return kText;
    case '[':
      return kList;
    case '{':
      return kObject;
    case 't':
    case 'f':
      return kFlag;
    default:
      break;
  }
  while (++at < text.size())
    if (const char c = text[at]; c == '.' || (c | 0x20) == 'e')
      return kReal;
    else if (c < '0' || c > '9')
      break;
  return kInteger;
}

bool has_surrogate(std::string_view text) {
  for (std::size_t i = 0; (i = text.find('\xED', i)) != text.npos; ++i)
    if (static_cast<unsigned char>(text[i + 1]) >= 0xA0) return true;
  return false;
}

// Appends what a text between its quotes means; false if UTF-8 cannot write it.
bool append_meant(std::string& bytes, std::string_view text) {
  const std::size_t first = bytes.size();
  if (text.find('\\') == text.npos)
    bytes += text;
  else
    bytes += without_escapes(text);
  return !has_surrogate(std::string_view(bytes).substr(first));
}

// Texts laid end to end, most of those that return once: looked for is among the latest ones, as a
// table of millions would cost more than the texts themselves.
class Words {
 public:
  Words(std::string& bytes, std::vector<std::int64_t>& offsets)
      : bytes_(bytes), offsets_(offsets), slots_(kSlots) {
    offsets_.assign(1, 0);
  }

  // The code of what a text between its quotes means, or -1 if UTF-8 cannot write it or there are
  // too many.
  std::int32_t code(std::string_view text) {
    const auto first = static_cast<std::size_t>(offsets_.back());
    if (!append_meant(bytes_, text) || offsets_.size() > kMostWords) return -1;
    const std::string_view word = std::string_view(bytes_).substr(first);
    const std::uint64_t hash = std::hash<std::string_view>()(word);
    const auto mark = static_cast<std::uint32_t>(hash >> 32);
    Slot* const near = &slots_[hash % kSlots / kNear * kNear];
    for (Slot* slot = near; slot != near + kNear; ++slot)
      if (slot->mark == mark && slot->code >= 0 && at(slot->code) == word) {
        bytes_.resize(first);
        return slot->code;
      }
    const auto code = static_cast<std::int32_t>(offsets_.size() - 1);
    near[offsets_.size() % kNear] = {mark, code};
    offsets_.push_back(static_cast<std::int64_t>(bytes_.size()));
    return code;
  }

 private:
  struct Slot {
    std::uint32_t mark = 0;
    std::int32_t code = -1;
  };
  static constexpr std::size_t kSlots = 1 << 16, kNear = 8;
  static constexpr std::size_t kMostWords = std::numeric_limits<std::int32_t>::max();

  std::string_view at(std::int32_t code) const {
    const auto i = static_cast<std::size_t>(code);
    const auto first = static_cast<std::size_t>(offsets_[i]);
    return std::string_view(bytes_).substr(first,
                                           static_cast<std::size_t>(offsets_[i + 1]) - first);
  }

  std::string& bytes_;
  std::vector<std::int64_t>& offsets_;
  std::vector<Slot> slots_;
};

class UnknownKeys {
 public:
  UnknownKeys(std::size_t most, std::size_t counted) : most_(most), counted_(counted) {}

  void count(std::string_view text, std::size_t row) {
    if (row / counted_ != part_) {
      part_ = row / counted_;
      full_ = found_.size() == most_;
    }
    if (full_) return;
    const bool escapes = text.find('\\') != text.npos;
    std::string key = escapes ? without_escapes(text) : std::string(text);
    const auto at = places_.find(key);
    if (at != places_.end()) {
      ++found_[at->second].rows;
    } else if (found_.size() < most_) {
      places_.emplace(key, found_.size());
      found_.push_back({std::move(key), row, 1});
    }
  }

  std::vector<JsonUnknown> take() { return std::move(found_); }

 private:
  std::size_t most_, counted_, part_ = 0;
  bool full_ = false;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<JsonUnknown> found_;
};

// Where the cells of a key stand.
struct Cells {
  Cells(const JsonField& of, std::size_t most, std::size_t counted)
      : field(of), unknown(most, counted) {
    for (const JsonField& key : of.inner) inner.emplace_back(key, most, counted);
  }

  const JsonField& field;
  std::vector<std::size_t> begins;  // 0: absent; rows beyond them have none
  std::uint8_t kinds = 0;
  bool used = false;
  std::vector<Cells> inner;
  UnknownKeys unknown;
};

class TableReader {
 public:
  TableReader(std::string_view text, std::size_t most, std::size_t counted)
      : text_(text), most_(most), counted_(counted) {}

  JsonTable read(const std::vector<JsonField>& fields) {
    const JsonField row{"", JsonField::Texts::kObjects, true, fields};
    Cells cells(row, most_, counted_);
    JsonTable table;
    const bool single = text_.front() == '{';
    Cursor cursor(text_, single ? 0 : 1);
    if (!single && cursor.peek() == ']') return finished(std::move(table), cells);
    do {
      if (cursor.peek() == '{') {
        object(cursor, cells, table.rows);
      } else {
        const std::size_t at = cursor.at();
        table.strange.push_back({table.rows, at, cursor.value().size()});
      }
      ++table.rows;
    } while (!single && table.strange.size() < most_ && cursor.take(','));
    return finished(std::move(table), cells);
  }

 private:
  JsonTable finished(JsonTable table, Cells& cells) {
    rows_ = table.rows;
    objects(cells, table.row);
    return table;
  }

  void object(Cursor& cursor, Cells& of, std::size_t row) {
    cursor.take('{');
    if (cursor.take('}')) return;
    std::size_t next = 0;  // rows name their keys in one order, mostly
    do {
      cursor.peek();
      const std::string_view key = cursor.string();
      cursor.take(':');
      cursor.peek();
      Cells* const cells = known(of, key, next);
      if (cells == nullptr) {
        of.unknown.count(key, row);
        cursor.value();
      } else {
        cell(cursor, *cells, row);
      }
    } while (cursor.take(','));
    cursor.take('}');
  }

  void cell(Cursor& cursor, Cells& cells, std::size_t row) {
    cells.used = true;
    if (cursor.peek() == 'n') {
      cursor.scalar();
      return;
    }
    const Kind kind = kind_of(text_, cursor.at());
    cells.kinds |= kind;
    cells.begins.resize(row, 0);
    cells.begins.push_back(cursor.at());
    if (kind == kObject && cells.field.texts == JsonField::Texts::kObjects)
      object(cursor, cells, row);
    else
      cursor.value();
  }

  static Cells* known(Cells& of, std::string_view key, std::size_t& next) {
    if (key.find('\\') != key.npos) {
      const std::string meant = without_escapes(key);
      return known_meant(of, meant, next);
    }
    return known_meant(of, key, next);
  }

  static Cells* known_meant(Cells& of, std::string_view key, std::size_t& next) {
    const std::size_t count = of.inner.size();
    for (std::size_t tried = 0; tried < count; ++tried, ++next) {
      if (next >= count) next = 0;
      if (of.inner[next].field.key == key) return &of.inner[next++];
    }
    return nullptr;
  }

  void objects(Cells& cells, JsonColumn& column) {
    column.form = Form::kObjects;
    column.unknown = cells.unknown.take();
    for (Cells& inner : cells.inner) {
      if (!inner.used) continue;
      column.keys.push_back(inner.field.key);
      finish(inner, column.columns.emplace_back());
      inner.begins = {};
    }
  }

  void finish(Cells& cells, JsonColumn& column) {
    using Texts = JsonField::Texts;
    const Texts texts = cells.field.texts;
    if (cells.kinds == 0) return;
    bool done = false;
    if (texts == Texts::kObjects && cells.kinds == kObject) return objects(cells, column);
    if (texts == Texts::kWritten)
      done = false;
    else if (cells.kinds == kFlag)
      done = flags(cells, column);
    else if (cells.kinds == kInteger)
      done = integers(cells, column);
    else if (cells.kinds == kReal || (cells.kinds == (kInteger | kReal) && cells.field.numbers))
      done = reals(cells, column);
    else if (cells.kinds == kText)
      done = texts == Texts::kPlain ? plain(cells, column) : words(cells, column);
    else if (cells.kinds == kList && texts == Texts::kWords)
      done = lists(cells, column);
    if (!done)
      column = written(cells);
    else if (column.form != Form::kWords)
      mark_given(cells, column);
  }

  // Calls with the row and where its cell begins; ends where that returns false.
  template <class Visit>
  static bool each(const Cells& cells, Visit&& visit) {
    for (std::size_t row = 0; row < cells.begins.size(); ++row)
      if (cells.begins[row] != 0 && !visit(row, cells.begins[row])) return false;
    return true;
  }

  void mark_given(const Cells& cells, JsonColumn& column) const {
    if (cells.begins.size() == rows_ &&
        std::find(cells.begins.begin(), cells.begins.end(), std::size_t{0}) == cells.begins.end())
      return;
    column.given.resize(rows_, 0);
    for (std::size_t row = 0; row < cells.begins.size(); ++row)
      column.given[row] = cells.begins[row] != 0 ? 1 : 0;
  }

  template <class T>
  bool number(std::size_t at, T& value) const {
    const std::string_view token = Cursor(text_, at).scalar();
    const char* const end = token.data() + token.size();
    const auto [stop, error] = std::from_chars(token.data(), end, value);
    return error == std::errc() && stop == end;
  }

  bool integers(const Cells& cells, JsonColumn& column) const {
    column.form = Form::kIntegers;
    column.integers.resize(rows_, 0);
    return each(cells,
                [&](std::size_t row, std::size_t at) { return number(at, column.integers[row]); });
  }

  bool reals(const Cells& cells, JsonColumn& column) const {
    column.form = Form::kReals;
    column.reals.resize(rows_, 0.0);
    return each(cells, [&](std::size_t row, std::size_t at) {
      std::int64_t whole = 0;
      if (!number(at, whole)) return number(at, column.reals[row]);
      column.reals[row] = static_cast<double>(whole);  // -0 too is 0
      return true;
    });
  }

  bool flags(const Cells& cells, JsonColumn& column) const {
    column.form = Form::kFlags;
    column.flags.resize(rows_, 0);
    return each(cells, [&](std::size_t row, std::size_t at) {
      column.flags[row] = text_[at] == 't' ? 1 : 0;
      return true;
    });
  }

  bool plain(const Cells& cells, JsonColumn& column) const {
    column.form = Form::kTexts;
    column.offsets.resize(rows_ + 1, 0);
    std::size_t next = 0;
    const auto fill = [&](std::size_t row) {
      const auto size = static_cast<std::int64_t>(column.bytes.size());
      std::fill(column.offsets.begin() + static_cast<std::ptrdiff_t>(next),
                column.offsets.begin() + static_cast<std::ptrdiff_t>(row + 1), size);
      next = row + 1;
    };
    const bool done = each(cells, [&](std::size_t row, std::size_t at) {
      fill(row);
      return append_meant(column.bytes, Cursor(text_, at).string());
    });
    fill(rows_);
    return done;
  }

  bool words(const Cells& cells, JsonColumn& column) const {
    column.form = Form::kWords;
    column.codes.resize(rows_, -1);
    Words words(column.bytes, column.offsets);
    return each(cells, [&](std::size_t row, std::size_t at) {
      column.codes[row] = words.code(Cursor(text_, at).string());
      return column.codes[row] >= 0;
    });
  }

  bool lists(const Cells& cells, JsonColumn& column) const {
    column.form = Form::kLists;
    column.ends.resize(rows_ + 1, 0);
    Words words(column.bytes, column.offsets);
    std::size_t next = 0;
    const auto fill = [&](std::size_t row) {
      const auto size = static_cast<std::int64_t>(column.codes.size());
      std::fill(column.ends.begin() + static_cast<std::ptrdiff_t>(next),
                column.ends.begin() + static_cast<std::ptrdiff_t>(row + 1), size);
      next = row + 1;
    };
    const bool done = each(cells, [&](std::size_t row, std::size_t at) {
      fill(row);
      Cursor cursor(text_, at + 1);
      if (cursor.peek() == ']') return true;
      do {
        if (cursor.peek() != '"') return false;
        column.codes.push_back(words.code(cursor.string()));
        if (column.codes.back() < 0) return false;
      } while (cursor.take(','));
      return true;
    });
    fill(rows_);
    return done;
  }

  JsonColumn written(const Cells& cells) const {
    JsonColumn column;
    column.form = Form::kWritten;
    std::string& bytes = column.bytes;
    for (std::size_t row = 0; row < rows_; ++row) {
      bytes += row == 0 ? '[' : ',';
      if (row < cells.begins.size() && cells.begins[row] != 0)
        bytes += Cursor(text_, cells.begins[row]).value();
      else
        bytes += "null";
    }
    bytes += rows_ == 0 ? "[]" : "]";
    return column;
  }

  std::string_view text_;
  std::size_t most_, counted_, rows_ = 0;
};

}  // namespace

JsonTable read_json_table(std::string_view text, const std::vector<JsonField>& fields,
                          std::size_t most, std::size_t counted) {
  return TableReader(text, most, counted).read(fields);
}

}  // namespace evenhand
