#pragma once

namespace evenhand::bindings {

/// The commit that this was built from, with "-dirty" if files differed; empty outside a checkout.
extern const char* const kCommit;

}  // namespace evenhand::bindings
