// Frozen tables. Copying a snapshot copies a pointer.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "evenhand/model/build.h"
#include "evenhand/model/tables.h"

namespace evenhand {

class Snapshot {
 public:
  explicit Snapshot(Built built) : built_(std::make_shared<const Built>(std::move(built))) {}
  explicit Snapshot(Tables tables) : Snapshot(Built{std::move(tables), {}}) {}

  const Built& built() const noexcept { return *built_; }
  const Tables& tables() const noexcept { return built_->tables; }
  const RowOrders& orders() const noexcept { return built_->orders; }

 private:
  std::shared_ptr<const Built> built_;
};

// 128 bits of the tables' contents as 32 hexadecimal digits: the same for the
// same rows in any order, on every machine and in every version of this layout.
// Not cryptographic. Linear in the bytes.
std::string fingerprint(const Tables& tables);

// Bytes that the columns occupy.
std::size_t memory_bytes(const Tables& tables) noexcept;

}  // namespace evenhand
