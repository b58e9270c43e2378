// One heartbeat of one node: what may leave, what starts, and for which request.
//
// Source: YTsaurus, heartbeat handling: graceful pass, regular stage, preemptive
// stages under the node's back-off, repair of violated limits, node over its
// resources. Cost without a decision: O(R) for the node, O(shapes) for free room,
// O(candidates + allocations of the node) for each preemptive stage that runs.
#pragma once

#include "evenhand/policy/ytsaurus/workspace.h"
#include "evenhand/preempt/recorder.h"

namespace evenhand::ytsaurus {

// Decisions are added to the workspace's; what they change holds for the next heartbeat.
// A recorder gets what was looked at; nothing else is decided with it.
void heartbeat(Workspace& workspace, Id node, Recorder* recorder = nullptr);

}  // namespace evenhand::ytsaurus
