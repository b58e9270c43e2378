// What a plan consists of: flat records in the order in which they are carried out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "evenhand/model/cluster_state.h"
#include "evenhand/preempt/codes.h"
#include "evenhand/preempt/groups.h"
#include "evenhand/preempt/minimum_question.h"
#include "evenhand/preempt/proof.h"

namespace evenhand {

enum class Action : std::uint8_t { kStart, kPreempt, kResume, kReserve, kRelease };
enum class Mode : std::uint8_t {
  kTerminate,
  kRequeue,
  kCheckpoint,
  kPreempt,
  kEnhancedSuspend,
  kSuspend
};

// How many run in a queue, and how many may; where below it in its tree a job is.
struct QueueCount {
  Id queue = kNoId;
  Index count = 0, most = 0;
  Index level = -1, seq = -1;
};

struct Decision {
  Action action;
  Stage stage;
  Reason reason;
  Mode mode = Mode::kRequeue;
  Group group = Group::kNone;          // of a victim
  std::int8_t within_fair_share = -1;  // a victim's operation, just before; -1: a start
  // A pool above a victim, just before; -1: none has a guarantee, or it is a start.
  std::int8_t pool_within_guarantee = -1;
  Id slot = kNoId;       // allocation: the victim, or the one that resumes
  Id request = kNoId;    // started, or waited for
  Id operation = kNoId;  // of the victim, or of the request
  Id node = kNoId;
  Id step = 0;          // what one beneficiary needs shares a step
  Id violated = kNoId;  // element whose limit is repaired
  Beneficiary beneficiary{};
  Time grace = 0;
  Time at = kNoTime, until = kNoTime;  // when it is carried out, or begins; its deadline or end
  Time ran = kNoTime;                  // how long a victim has run, of systems that say so
  bool soft = false;                   // a reservation whose room others may use
  QueueCount over{};                   // of a job that stops or resumes by the count of a queue
};

// Amounts of a decision, R each.
struct DecisionAmounts {
  const Amount *freed, *free_before, *needed, *usage_before;
  const Amount* kept = nullptr;
};

// Of a step whose victims are to cost least: how far they are proved to.
struct StepProof {
  Id step;
  SelectionProof proof;
};

class Decisions {
 public:
  explicit Decisions(std::size_t width = 0) : width_(width) {}

  void add(const Decision& decision, const DecisionAmounts& amounts);
  void set_last_slot(Id slot) { rows_.back().slot = slot; }  // what the last one started
  void prove(Id step, const SelectionProof& proof) { proofs_.push_back({step, proof}); }
  // Whether what searches were asked is written down, too: asked() follows each prove().
  void certify(bool on) noexcept { certifies_ = on; }
  bool certifies() const noexcept { return certifies_; }
  void asked(Id step, MinimumQuestion question) {
    if (!certifies_) return;
    question.root_bound = proofs_.back().proof.root_bound;
    question.branches = proofs_.back().proof.branches;
    questions_.push_back({step, std::move(question)});
  }
  void clear() {
    rows_.clear();
    proofs_.clear();
    questions_.clear();
    amounts_.clear();
  }

  const std::vector<Decision>& rows() const noexcept { return rows_; }
  const std::vector<StepProof>& proofs() const noexcept { return proofs_; }
  const std::vector<StepQuestion>& questions() const noexcept { return questions_; }
  // What queues are called, where decisions count what runs in them.
  void name_queues(std::vector<std::string> names) { queue_names_ = std::move(names); }
  const std::vector<std::string>& queue_names() const noexcept { return queue_names_; }
  // Which of freed, free_before, needed, usage_before, kept: n x R.
  Column<Amount> amounts(int which) const;

 private:
  std::size_t width_;
  std::vector<Decision> rows_;
  std::vector<StepProof> proofs_;
  std::vector<StepQuestion> questions_;
  bool certifies_ = false;
  Column<Amount> amounts_;  // n x 5 x R
  std::vector<std::string> queue_names_;
};

}  // namespace evenhand
