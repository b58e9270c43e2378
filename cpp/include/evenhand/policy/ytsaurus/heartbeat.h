// One heartbeat of one node: what may leave, what starts, and for whom.
//
// Source: YTsaurus, heartbeat handling: graceful pass, regular stage, preemptive
// stages under the node's back-off, repair of violated limits, node over its
// resources. Cost without a decision: O(R) for the node, O(shapes) for free room,
// O(candidates + allocations of the node) for each preemptive stage that runs.
#pragma once

#include "evenhand/policy/ytsaurus/desk.h"
#include "evenhand/preempt/recorder.h"

namespace evenhand::ytsaurus {

// Decisions are added to the desk's; what they change holds for the next heartbeat.
void heartbeat(Desk& desk, Id node);

// The same, telling the recorder what was looked at. Decides nothing else.
void heartbeat(Desk& desk, Id node, Recorder& recorder);

// Every node in canonical order.
void round(Desk& desk);

}  // namespace evenhand::ytsaurus
