#include "evenhand/core/json_scan.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <deque>
#include <tuple>

namespace evenhand {
namespace {

// Deeper than any parser follows; so much of the text is looked at.
constexpr std::size_t kDeepest = 100'000;

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
  return (first * 0x9E3779B97F4A7C15U) ^ (last + text.size());
}

struct Frame {
  bool object;
  std::size_t at;
  std::size_t first_key;      // of the keys
  std::size_t first_decoded;  // of the keys that were written with escapes
  std::int64_t place = 0;     // in a list
};

void append_utf8(std::string& out, std::uint32_t code) {
  const auto byte = [&out](std::uint32_t bits) { out.push_back(static_cast<char>(bits)); };
  if (code < 0x80) return byte(code);
  if (code < 0x800) {
    byte(0xC0 | (code >> 6));
  } else {
    if (code < 0x10000) {
      byte(0xE0 | (code >> 12));
    } else {
      byte(0xF0 | (code >> 18));
      byte(0x80 | ((code >> 12) & 0x3F));
    }
    byte(0x80 | ((code >> 6) & 0x3F));
  }
  byte(0x80 | (code & 0x3F));
}

// The four digits of an escape, or a number beyond all code units.
std::uint32_t code_unit(std::string_view text, std::size_t at) {
  std::uint32_t unit = 0;
  if (at + 4 > text.size()) return 0x110000;
  const char* const end = text.data() + at + 4;
  const auto [stop, error] = std::from_chars(text.data() + at, end, unit, 16);
  return error == std::errc() && stop == end ? unit : 0x110000;
}

std::string without_escapes(std::string_view text) {
  constexpr std::string_view kLetters = "bfnrt", kMeant = "\b\f\n\r\t";
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || ++i == text.size()) {
      out.push_back(text[i < text.size() ? i : i - 1]);
      continue;
    }
    const auto letter = kLetters.find(text[i]);
    if (letter != std::string_view::npos) {
      out.push_back(kMeant[letter]);
    } else if (std::uint32_t code; text[i] == 'u' && (code = code_unit(text, i + 1)) < 0x10000) {
      i += 4;
      if (code >= 0xD800 && code < 0xDC00 && text.substr(i + 1, 2) == "\\u") {
        const std::uint32_t low = code_unit(text, i + 3);
        if (low >= 0xDC00 && low < 0xE000) {
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
          i += 6;
        }
      }
      append_utf8(out, code);
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

class Scanner {
 public:
  Scanner(std::string_view text, std::size_t longest_integer, std::size_t most)
      : text_(text), longest_(longest_integer), most_(most) {}

  std::vector<JsonFinding> run() {
    while (at_ < text_.size() && frames_.size() < kDeepest) step();
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& a, const auto& b) { return a.at < b.at; });
    return std::move(found_);
  }

 private:
  void step() {
    switch (text_[at_]) {
      case '"':
        return string();
      case '{':
      case '[':
        frames_.push_back({text_[at_] == '{', at_, keys_.size(), decoded_.size()});
        break;
      case '}':
      case ']':
        close();
        break;
      case ',':
        if (!frames_.empty()) ++frames_.back().place;
        break;
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
        return number();
      default:
        break;
    }
    ++at_;
  }

  void string() {
    const std::size_t first = ++at_;
    bool escapes = false;
    while (at_ < text_.size() && text_[at_] != '"') {
      const bool escape = text_[at_] == '\\';
      escapes |= escape;
      at_ += escape ? 2 : 1;
    }
    if (at_ >= text_.size()) return;
    const std::size_t end = at_++;
    if (frames_.empty() || !frames_.back().object) return;
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    if (at_ == text_.size() || text_[at_] != ':') return;
    std::string_view key = text_.substr(first, end - first);
    if (escapes) key = decoded_.emplace_back(without_escapes(key));
    keys_.push_back({mark_of(key), key});
  }

  void close() {
    if (frames_.empty()) return;
    const Frame frame = frames_.back();
    frames_.pop_back();
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(frame.first_key);
    if (keys_.end() - first > 1 && others_ < most_ && any_twice(first)) report_twice(frame);
    keys_.resize(frame.first_key);
    decoded_.resize(frame.first_decoded);
  }

  bool any_twice(std::vector<Key>::iterator first) {
    constexpr std::ptrdiff_t kFew = 16;
    if (keys_.end() - first > kFew) {
      std::sort(first, keys_.end());
      return std::adjacent_find(first, keys_.end()) != keys_.end();
    }
    for (auto key = first; key != keys_.end(); ++key)
      if (std::find(first, key, *key) != key) return true;
    return false;
  }

  void report_twice(const Frame& frame) {
    const auto path = path_here(frame.first_key);
    std::vector<std::string_view> names;
    for (std::size_t i = frame.first_key; i < keys_.size(); ++i) names.push_back(keys_[i].text);
    std::sort(names.begin(), names.end());
    for (auto name = names.begin();
         (name = std::adjacent_find(name, names.end())) != names.end();) {
      auto of_name = path;
      of_name.emplace_back(std::string(*name));
      found_.push_back({JsonFinding::Kind::kTwice, std::move(of_name), frame.at, 0});
      name = std::upper_bound(name, names.end(), *name);
    }
    ++others_;
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
    }
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
  std::size_t longest_, most_, others_ = 0, at_ = 0;
  std::vector<Frame> frames_;
  std::vector<Key> keys_;  // of all open objects, the innermost last
  std::deque<std::string> decoded_;
  std::vector<JsonFinding> found_;
};

}  // namespace

std::vector<JsonFinding> scan_json(std::string_view text, std::size_t longest_integer,
                                   std::size_t most) {
  return Scanner(text, longest_integer, most).run();
}

}  // namespace evenhand
