#include "evenhand/model/delta.h"

namespace evenhand {

Id apply(ClusterState& state, const Delta& d) {
  switch (d.kind) {
    case Delta::Kind::kStart:
      return state.start(d.row, d.node, d.amounts, d.time);
    case Delta::Kind::kEnd:
      state.end(d.row);
      return d.row;
    case Delta::Kind::kPreempt:
      state.preempt(d.row, d.beneficiary, d.amounts);
      return d.row;
    case Delta::Kind::kSuspend:
      state.suspend(d.row, d.amounts);
      return d.row;
    case Delta::Kind::kResume:
      state.resume(d.row, d.node, d.time);
      return d.row;
    case Delta::Kind::kTouch:
      state.touch(d.row, d.time, d.progress);
      return d.row;
    case Delta::Kind::kResize:
      state.resize(d.row, d.amounts);
      return d.row;
    case Delta::Kind::kPending:
      state.set_pending(d.row, d.count);
      return kNoId;
    case Delta::Kind::kCapacity:
      state.set_capacity(d.row, d.amounts);
      return kNoId;
    case Delta::Kind::kSchedulable:
      state.set_schedulable(d.row, d.schedulable);
      return kNoId;
    default:  // rows: see Delta
      return kNoId;
  }
}

}  // namespace evenhand
