#include "evenhand/core/json_scan.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <deque>
#include <iterator>
#include <numeric>
#include <span>
#include <tuple>

#include "evenhand/core/json_text.h"

namespace evenhand {
namespace {

// Deeper than any parser follows; so much of the text is looked at.
constexpr std::size_t kDeepest = 100'000;

// What may come next.
enum class Next : std::uint8_t { kValue, kValueOrEnd, kKey, kKeyOrEnd, kColon, kCommaOrEnd };

struct Key {
  std::uint64_t mark;  // equal for equal texts, seldom for others
  std::string_view text;

  bool operator==(const Key& other) const { return mark == other.mark && text == other.text; }
  bool operator<(const Key& other) const {
    return std::tie(mark, text) < std::tie(other.mark, other.text);
  }
};

std::uint64_t mark_of(std::string_view text) {
  std::uint64_t first = 0, last = 0;
  const std::size_t part = std::min<std::size_t>(text.size(), sizeof first);
  std::memcpy(&first, text.data(), part);
  std::memcpy(&last, text.data() + text.size() - part, part);
  return ((first * 0x9E3779B97F4A7C15U) ^ (last + text.size())) * 0xBF58476D1CE4E5B9U;
}

// Marks that several keys have, the first `most` found. All are put into buckets by their leading
// bits, so that each is sorted within the processor's caches.
std::vector<std::uint64_t> equal_marks(std::span<const Key> keys, std::size_t most) {
  const int bits = std::clamp(static_cast<int>(std::bit_width(keys.size())) - 4, 1, 12);
  const auto bucket = [&](const Key& key) {
    return static_cast<std::size_t>(key.mark >> (64 - bits));
  };
  std::vector<std::size_t> ends((std::size_t{1} << bits) + 1, 0);
  for (const Key& key : keys) ++ends[bucket(key) + 1];
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<std::uint64_t> marks(keys.size()), equal;
  for (const Key& key : keys)
    marks[ends[bucket(key)]++] = key.mark;  // ends: of the bucket, by then
  auto begin = marks.begin();
  for (const std::size_t at : ends) {
    const auto end = marks.begin() + static_cast<std::ptrdiff_t>(at);
    std::sort(begin, end);
    while ((begin = std::adjacent_find(begin, end)) != end && equal.size() < most) {
      equal.push_back(*begin);
      begin = std::upper_bound(begin, end, *begin);
    }
    begin = end;
  }
  std::sort(equal.begin(), equal.end());
  return equal;
}

struct Frame {
  bool object;
  std::size_t at;
  std::size_t first_key;      // of the keys
  std::size_t first_decoded;  // of the keys that were written with escapes
  std::int64_t place = 0;     // in a list
};

class Scanner {
 public:
  Scanner(std::string_view text, std::size_t longest_integer, std::size_t most,
          const std::vector<std::string>& known)
      : text_(text), longest_(longest_integer), most_(most), known_(known) {}

  JsonScan run() {
    while (at_ < text_.size() && frames_.size() < kDeepest) step();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    valid_ &= frames_.empty() && next_ == Next::kCommaOrEnd && found_.empty();
    if (!valid_) parts_.clear();
    return {std::move(found_), std::move(too_large_), std::move(parts_), deepest_};
  }

 private:
  void step() {
    switch (text_[at_]) {
      case '"':
        return string();
      case '{':
      case '[':
        begin_value();
        frames_.push_back({text_[at_] == '{', at_, keys_.size(), decoded_.size()});
        deepest_ = std::max(deepest_, frames_.size());
        next_ = text_[at_] == '{' ? Next::kKeyOrEnd : Next::kValueOrEnd;
        ++at_;
        return;
      case '}':
      case ']':
        close();
        ++at_;
        return end_value();
      case ',':
        valid_ &= next_ == Next::kCommaOrEnd && !frames_.empty();
        if (!frames_.empty()) {
          ++frames_.back().place;
          next_ = frames_.back().object ? Next::kKey : Next::kValue;
        }
        break;
      case ':':
        valid_ &= next_ == Next::kColon;
        next_ = Next::kValue;
        break;
      case ' ':
      case '\n':
      case '\t':
      case '\r':
        break;
      case 't':
        return word("true");
      case 'f':
        return word("false");
      case 'n':
        return word("null");
      case 'N':
      case 'I':
      case '-':
      case '0':
      case '1':
      case '2':
      case '3':
      case '4':
      case '5':
      case '6':
      case '7':
      case '8':
      case '9':
        begin_value();
        number();
        return end_value();
      default:
        valid_ = false;
    }
    ++at_;
  }

  void begin_value() {
    valid_ &= next_ == Next::kValue || next_ == Next::kValueOrEnd;
    if (frames_.size() != 1 || !frames_.back().object || keys_.empty() || !valid_) return;
    const std::string_view key = keys_.back().text;
    if (std::find(known_.begin(), known_.end(), key) != known_.end() || unknown_++ < most_)
      parts_.push_back({std::string(key), at_, 0});
  }

  void end_value() {
    next_ = Next::kCommaOrEnd;
    if (frames_.size() == 1 && !parts_.empty() && parts_.back().size == 0)
      parts_.back().size = at_ - parts_.back().at;
  }

  void word(std::string_view expected) {
    begin_value();
    const bool whole = text_.substr(at_, expected.size()) == expected;
    valid_ &= whole;
    at_ += whole ? expected.size() : 1;
    end_value();
  }

  void string() {
    const bool key = next_ == Next::kKey || next_ == Next::kKeyOrEnd;
    if (!key) begin_value();
    const std::size_t first = ++at_;
    bool escapes = false;
    while (at_ < text_.size() && text_[at_] != '"') {
      const bool escape = text_[at_] == '\\';
      valid_ &= static_cast<unsigned char>(text_[at_]) >= 0x20;
      escapes |= escape;
      at_ += escape ? 2 : 1;
    }
    if (at_ >= text_.size()) {
      valid_ = false;
      return;
    }
    const std::size_t end = at_++;
    if (escapes) valid_ &= escapes_are_known(text_.substr(first, end - first));
    if (!key) return end_value();
    next_ = Next::kColon;
    std::string_view name = text_.substr(first, end - first);
    if (escapes) name = decoded_.emplace_back(without_escapes(name));
    keys_.push_back({mark_of(name), name});
  }

  static bool escapes_are_known(std::string_view text) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    for (std::size_t i = 0; (i = text.find('\\', i)) != text.npos; i += 2)
      if (text[i + 1] == 'u' ? code_unit(text, i + 2) > 0xFFFF
                             : kLetters.find(text[i + 1]) == kLetters.npos)
        return false;
    return true;
  }

  void close() {
    valid_ &= !frames_.empty() && frames_.back().object == (text_[at_] == '}') &&
              (next_ == Next::kCommaOrEnd ||
               next_ == (text_[at_] == '}' ? Next::kKeyOrEnd : Next::kValueOrEnd));
    if (frames_.empty()) return;
    const Frame frame = frames_.back();
    frames_.pop_back();
    if (keys_.size() - frame.first_key > 1 && others_ < most_) report_twice(frame);
    keys_.resize(frame.first_key);
    decoded_.resize(frame.first_decoded);
  }

  // Keys that an object has more than once, the first `most_` found, in order.
  std::vector<std::string_view> twice(std::span<const Key> keys) const {
    constexpr std::size_t kFew = 16;
    std::vector<std::string_view> names;
    if (keys.size() <= kFew) {
      for (auto key = keys.begin(); key != keys.end(); ++key)
        if (std::find(keys.begin(), key, *key) != key) names.push_back(key->text);
    } else if (const auto marks = equal_marks(keys, most_); !marks.empty()) {
      std::vector<Key> some;
      std::copy_if(keys.begin(), keys.end(), std::back_inserter(some), [&](const Key& key) {
        return std::binary_search(marks.begin(), marks.end(), key.mark);
      });
      std::sort(some.begin(), some.end());
      for (auto key = some.begin(); (key = std::adjacent_find(key, some.end())) != some.end();
           ++key)
        names.push_back(key->text);
    }
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
  }

  void report_twice(const Frame& frame) {
    const auto names = twice(std::span(keys_).subspan(frame.first_key));
    if (names.empty()) return;
    const auto path = path_here(frame.first_key);
    for (std::size_t i = 0; i < names.size() && others_ < most_; ++i, ++others_) {
      auto of_name = path;
      of_name.emplace_back(std::string(names[i]));
      found_.push_back({JsonFinding::Kind::kTwice, std::move(of_name), frame.at, 0});
    }
  }

  void number() {
    const std::size_t first = at_;
    bool whole = true;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c >= '0' && c <= '9') continue;
      if ((c | 0x20) == 'e' || c == '.') whole = false;
      // What else a number has; letters are those of the constants NaN and Infinity.
      else if (c != '-' && c != '+' && ((c | 0x20) < 'a' || (c | 0x20) > 'z'))
        break;
    }
    const std::string_view token = text_.substr(first, at_ - first);
    if (token == "NaN" || token == "Infinity" || token == "-Infinity") {
      if (others_++ < most_)
        found_.push_back(
            {JsonFinding::Kind::kConstant, path_here(keys_.size()), first, token.size()});
    } else if (whole && token.size() - (token.front() == '-') > longest_) {
      found_.push_back(
          {JsonFinding::Kind::kLongInteger, path_here(keys_.size()), first, token.size()});
    } else {
      valid_ &= is_number(token);
      if (!whole && too_large_.size() < most_ && is_too_large(token))
        too_large_.push_back({first, token.size()});
    }
  }

  // Doubles have three digits of exponent, or hundreds without one.
  static bool is_too_large(std::string_view token) {
    const std::size_t exponent = std::min(token.find_first_of("eE"), token.size());
    if (token.size() < 300 && token.size() - exponent <= 3) return false;
    double value = 0;
    const auto read = [](std::string_view text, auto& number) {
      return std::from_chars(text.data(), text.data() + text.size(), number).ec;
    };
    if (read(token, value) != std::errc::result_out_of_range) return false;
    // Or it is too near to 0: what counts is where its first digit stands.
    const std::size_t point = std::min(token.find('.'), exponent);
    const auto digit = static_cast<std::int64_t>(token.find_first_of("123456789"));
    std::int64_t tens = 0;
    std::string_view power = token.substr(std::min(exponent + 1, token.size()));
    if (power.starts_with('+')) power.remove_prefix(1);
    if (read(power, tens) == std::errc::result_out_of_range) return !power.starts_with('-');
    return static_cast<std::int64_t>(point) - digit + tens > 0;
  }

  static bool is_number(std::string_view token) {
    std::size_t at = token.front() == '-' ? 1 : 0;
    const auto digits = [&] {
      const std::size_t first = at;
      while (at < token.size() && token[at] >= '0' && token[at] <= '9') ++at;
      return at > first;
    };
    const bool zero = at < token.size() && token[at] == '0';
    const std::size_t first = at;
    if (!digits() || (zero && at > first + 1)) return false;
    if (at < token.size() && token[at] == '.' && (++at, !digits())) return false;
    if (at < token.size() && (token[at] | 0x20) == 'e') {
      ++at;
      if (at < token.size() && (token[at] == '+' || token[at] == '-')) ++at;
      if (!digits()) return false;
    }
    return at == token.size();
  }

  // Where the value is that is read; `end`: of the keys of the objects around it.
  std::vector<JsonFinding::Step> path_here(std::size_t end) const {
    std::vector<JsonFinding::Step> path;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const std::size_t keys = i + 1 < frames_.size() ? frames_[i + 1].first_key : end;
      if (!frames_[i].object)
        path.emplace_back(frames_[i].place);
      else if (keys > frames_[i].first_key)
        path.emplace_back(std::string(keys_[keys - 1].text));
    }
    return path;
  }

  std::string_view text_;
  std::size_t longest_, most_, others_ = 0, unknown_ = 0, at_ = 0, deepest_ = 0;
  const std::vector<std::string>& known_;
  bool valid_ = true;
  Next next_ = Next::kValue;
  std::vector<Frame> frames_;
  std::vector<Key> keys_;  // of all open objects, the innermost last
  std::deque<std::string> decoded_;
  std::vector<JsonFinding> found_;
  std::vector<JsonNumber> too_large_;
  std::vector<JsonPart> parts_;
};

}  // namespace

JsonScan scan_json(std::string_view text, std::size_t longest_integer, std::size_t most,
                   const std::vector<std::string>& known) {
  return Scanner(text, longest_integer, most, known).run();
}

}  // namespace evenhand
