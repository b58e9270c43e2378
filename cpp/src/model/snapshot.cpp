#include "evenhand/model/snapshot.h"

#include <array>
#include <bit>
#include <cstring>

#include "evenhand/model/visit_columns.h"

namespace evenhand {
namespace {

// Two lanes of a multiply-and-rotate hash over little-endian words.
class Hash {
 public:
  void bytes(std::string_view text) {
    word(text.size());
    for (std::size_t i = 0; i < text.size(); i += 8) {
      std::array<unsigned char, 8> buffer{};
      std::memcpy(buffer.data(), text.data() + i, std::min<std::size_t>(8, text.size() - i));
      std::uint64_t value = 0;
      for (std::size_t k = 8; k-- > 0;) value = value << 8 | buffer[k];
      word(value);
    }
  }
  void word(std::uint64_t value) {
    a_ = mixed(a_ ^ value);
    b_ = std::rotl(b_, 29) * 0x9E3779B97F4A7C15u + mixed(value + 0xD1B54A32D192ED03u);
  }
  template <class T>
  void values(const Column<T>& column) {
    word(column.size());
    for (const T& value : column) word(bits(value));
  }
  std::string hex() const {
    std::string text;
    for (const std::uint64_t lane : {mixed(a_), mixed(b_ ^ a_)})
      for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[lane >> shift & 15];
    return text;
  }

 private:
  static std::uint64_t mixed(std::uint64_t x) {  // finaliser of SplitMix64
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
  }
  static std::uint64_t bits(double value) {  // all NaN are one, and so are both zeros
    return value != value ? ~std::uint64_t{0} : std::bit_cast<std::uint64_t>(value + 0.0);
  }
  template <class T>
  static std::uint64_t bits(T value) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }

  std::uint64_t a_ = 0x243F6A8885A308D3u, b_ = 0x13198A2E03707344u;
};

struct Hasher {
  Hash& hash;

  void column(const StringColumn& c) const {
    hash.bytes(c.bytes);
    hash.values(c.offsets);
  }
  void column(const NameColumn& c) const {
    column(c.text);
    hash.values(c.is_integer);
  }
  void column(const TextColumn& c) const {
    column(c.values);
    hash.values(c.codes);
  }
  void column(const TextListColumn& c) const {
    column(c.values);
    hash.values(c.offsets);
    hash.values(c.codes);
  }
  template <class T>
  void column(const Column<T>& c) const {
    hash.values(c);
  }
};

struct Counter {
  std::size_t bytes = 0;

  void column(const StringColumn& c) {
    bytes += c.bytes.capacity();
    column(c.offsets);
  }
  void column(const NameColumn& c) {
    column(c.text);
    column(c.is_integer);
  }
  void column(const TextColumn& c) {
    column(c.values);
    column(c.codes);
  }
  void column(const TextListColumn& c) {
    column(c.values);
    column(c.offsets);
    column(c.codes);
  }
  void column(const Grouping& g) {
    column(g.offsets);
    column(g.items);
  }
  template <class T>
  void column(const Column<T>& c) {
    bytes += c.capacity() * sizeof(T);
  }
};

template <class Sink>
void feed(const Tables& t, Sink& sink) {
  sink.column(t.resources.names);
  sink.column(t.resources.quantum);
  sink.column(t.resources.kind);
  sink.column(t.resources.scope);
  sink.column(t.resources.capacity);
  sink.column(t.resources.available_after_preemption);
  sink.column(t.total);
  visit_tables(t, [&](std::string_view, const auto& table, Index) {
    visit_columns(table, [&](std::string_view, const auto& c, const auto&) { sink.column(c); });
  });
}

}  // namespace

std::string fingerprint(const Tables& tables) {
  Hash hash;
  hash.word(static_cast<std::uint64_t>(tables.now));
  hash.word(static_cast<std::uint64_t>(tables.previous_update));
  const Hasher hasher{hash};
  feed(tables, hasher);
  return hash.hex();
}

std::size_t memory_bytes(const Tables& tables) noexcept {
  Counter counter;
  feed(tables, counter);
  counter.column(tables.children);
  counter.column(tables.allocations_by_operation);
  counter.column(tables.allocations_by_node);
  counter.column(tables.requests_by_operation);
  if (tables.allocations.last_job_start_time.empty())
    counter.bytes -= tables.allocations.start_time.capacity() * sizeof(Time);  // visited twice
  return counter.bytes;
}

}  // namespace evenhand
