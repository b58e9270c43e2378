// Arbitrary bytes as raw columns: build() must end, without undefined behaviour,
// in problems that can be read or in tables that keep their invariants, and in
// the same ones when asked again.
#include "evenhand/model/build.h"
#include "fuzzed_input.h"
#include "invariants.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace evenhand;
  const fuzz::FuzzedInput fuzzed(data, size);
  const auto result = build(fuzzed.input());
  const auto again = build(fuzzed.input());
  if (const auto* problems = std::get_if<Problems>(&result)) {
    fuzz::require_sentences(*problems);
    REQUIRE(std::get<Problems>(again).total() == problems->total());
  } else {
    const Tables& tables = std::get<Built>(result).tables;
    fuzz::require_invariants(tables);
    REQUIRE(fingerprint(tables) == fingerprint(std::get<Built>(again).tables));
  }
  return 0;
}
