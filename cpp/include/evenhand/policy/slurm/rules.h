// What releases of Slurm do each in a way of its own. The release picks its rules here, once; what
// follows them asks for a rule and never for a release.
//
// Source: Slurm, select/cons_tres (choice of nodes, will-run test), backfill plugin, controller.
#pragma once

#include <cstdint>

namespace evenhand::slurm {

enum class Release : std::uint8_t {
  k22_05,
  k23_02,
  k23_11,
  k24_05,
  k24_11,
  k25_05,
  k25_11,
  k26_05
};

struct Rules {
  bool nodes_count_with_what_a_job_takes;  // there, and not with all that is free
  bool one_node_is_the_first;              // a job of a single node gets the first that will do
  bool estimates_from_the_instant_tried;   // and no further than when more nodes may be free
  bool kept_until_rounded_up;              // what is kept for a planned start
  bool starts_at_an_end_on_its_nodes;      // a planned start, not at the last end taken
  bool starts_with_its_whole_limit;        // a job with a shortest limit
  bool first_candidate_says_how;           // whether others end or are suspended, by QOS
  bool expedites;                          // jobs requeued with precedence
  bool plain_queue_is_as_submitted;  // without backfill and with equal tiers, whatever the priority
  bool gang_honours_exempt_time;     // jobs that ran too short are not suspended by tier, either
};

inline Rules rules_of(Release release) {
  Rules rules{};
  rules.nodes_count_with_what_a_job_takes = release >= Release::k23_02;
  rules.one_node_is_the_first = release >= Release::k26_05;
  rules.estimates_from_the_instant_tried = release >= Release::k24_11;
  rules.kept_until_rounded_up = release >= Release::k24_11;
  rules.starts_at_an_end_on_its_nodes = release >= Release::k25_05;
  rules.starts_with_its_whole_limit = release >= Release::k25_05;
  rules.first_candidate_says_how = release >= Release::k24_11;
  rules.expedites = release >= Release::k25_11;
  rules.plain_queue_is_as_submitted = release < Release::k24_11;
  rules.gang_honours_exempt_time = release >= Release::k26_05;
  return rules;
}

}  // namespace evenhand::slurm
