// Frozen tables. Copying a snapshot copies a pointer.
#pragma once

#include <memory>
#include <utility>

#include "evenhand/model/tables.h"

namespace evenhand {

class Snapshot {
 public:
  explicit Snapshot(Tables tables) : tables_(std::make_shared<const Tables>(std::move(tables))) {}
  const Tables& tables() const noexcept { return *tables_; }

 private:
  std::shared_ptr<const Tables> tables_;
};

}  // namespace evenhand
