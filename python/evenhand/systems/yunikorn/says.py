"""What YuniKorn says of outcomes and victims beyond the sentences of their codes."""

from __future__ import annotations

from typing import Final

from evenhand.systems.reason import Clause
from evenhand.systems.yunikorn.letters import LETTERS

__all__ = ["SAYS"]

_COST = {
    "opted_out": "opted out last",
    "originator": "originators last",
    "priority": "the lowest priority first",
    "live_time": "the shortest live time first",
    "lost_work": "the least lost work first",
    "own": "by the given cost",
}
_NAMED = {
    "default": ("opted_out", "originator", "priority", "live_time"),
    "live_time": ("live_time",),
    "priority": ("priority",),
    "kind": ("opted_out", "originator"),
}

#: Why an allocation is no candidate, in the order of the core's enumeration.
BECAUSE: Final = (
    *("needs_its_node", "spared", "holds_nothing", "same_queue", "asker_disabled", "queue_disabled"),
    *("outside_fence", "within_guarantee", "priority"),
)


def _because(because: str, sentence: str, *numbers: str) -> tuple[Clause, Clause]:
    """Return what is said where a rule bars an allocation, with or without its queue."""
    where, says = {"why": BECAUSE.index(because)}, {"because": because}
    return (
        Clause(sentence, ("queue", *numbers), where, says),
        Clause(sentence, numbers, where, says),
    )


_ROOM = (
    Clause("{node} lacks least: {missing} more would have to be free there"),
    Clause("the node that lacks least lacks least: {missing} more would have to be free there"),
)
_ENDED = "the cycle ended before it came to it"
_AT_THE_LIMIT = (
    "what it had placed came to {came_to:beside ends_at}, and it ends at {ends_at:beside came_to} (limit is"
    " {most:part})"
)
_OF_QUEUES = tuple(
    Clause(
        f"{{under:part}}{{asked:part}} takes victims of {takes}",
        (("queue", "own_queue"), "asking_queue"),
        {"in_one_queue": same},
    )
    for takes, same in (
        ("other queues only, and both are in queue {own_queue:name}", 1),
        ("its own queue {asking_queue:name} only, and this is of queue {own_queue:name}", 0),
    )
)
_SURPLUS = (
    Clause(
        "; its queue {queue:name} used {used:of keeps} that its ideal share and its guarantee keep, and a"
        " queue within them gives nothing to others",
        ("queue", "used", "keeps"),
    ),
)
_KEEPS = "it uses {used:beside guaranteed}, its guarantee is {guaranteed:beside used}"

#: By kind and code: the first clause whose facts are known is said.
SAYS: Final = {
    **LETTERS,
    ("part", "asked"): (Clause("request {request}"), Clause("what other queues claim")),
    # Why a request waits.
    ("request", "no_free_room"): _ROOM,
    ("request", "no_room_even_with_victims"): tuple(
        Clause(
            f"{{under:part}}the search for victims found none{{of_queues:part}} that make room for it;"
            f" {one.sentence}"
        )
        for one in _ROOM
    ),
    ("request", "node_not_schedulable"): (
        Clause(
            "node {row.required_node}, which it needs, takes nothing new (schedulable false)",
            (("required_node", "row.required_node"),),
        ),
        Clause("each node where it could run takes nothing new (schedulable false)"),
    ),
    ("request", "limits_of_operation_or_pool"): (
        Clause(
            "with it, queue {queue:name} would have more than its max: it uses {used:of max}{leaving:part}",
            ("queue", "used", "max"),
        ),
    ),
    ("part", "leaving"): (Clause(", and what still leaves of it {leaving}", ("leaving",)),),
    ("request", "missed_opportunity"): tuple(
        Clause(
            f"it found no room {times} before, and is left out of this allocation cycle{{more_cycles:part}}",
            ("missed", "cycles_left"),
            where,
        )
        for times, where in (("once", {"missed": 1}), ("{missed} times", {}))
    ),
    ("part", "more_cycles"): (
        Clause("", where={"cycles_left": 0}),
        Clause(", and of {cycles_left} more"),
    ),
    ("request", "queue_has_its_share"): tuple(
        Clause(
            f"policy {policy} preempts nothing for it: its queue {{queue:name}} has {share} that it asks for,"
            " {used:of ideal}",
            ("queue", "used", "ideal"),
            {"within_queue": within},
            {"policy": policy},
        )
        for policy, share, within in (
            ("intra_queue", "more than its ideal share of some", 1),
            ("inter_queue", "its ideal share of all", 0),
        )
    ),
    ("request", "cycle_full"): (
        Clause(
            f"{_ENDED}: 1 was placed, as many as may be in one (n_alloc)",
            ("placed", "n_alloc"),
            {"full": 1, "placed": 1},
        ),
        Clause(
            f"{_ENDED}: {{placed}} were placed, as many as may be in one (n_alloc)",
            ("placed", "n_alloc"),
            {"full": 1},
        ),
        Clause(
            f"{_ENDED}: the one ask of its last round could not be placed (n_alloc is {{n_alloc}})",
            ("placed", "n_alloc", "looked"),
            {"looked": (0, 1)},
        ),
        Clause(
            f"{_ENDED}: none of the {{looked}} asks of its last round could be placed (n_alloc is"
            " {n_alloc})",
            ("placed", "n_alloc", "looked"),
        ),
        Clause(
            f"policy {{of_policy:part}} ended while it still waited: {_AT_THE_LIMIT}", ("came_to", "ends_at")
        ),
        Clause(_ENDED),
    ),
    ("part", "of_policy"): (
        Clause("intra_queue", where={"within_queue": 1}, says={"policy": "intra_queue"}),
        Clause("inter_queue", where={"within_queue": 0}, says={"policy": "inter_queue"}),
    ),
    ("part", "most"): (
        Clause("{limit} of the partition", ("limit",), {"limit_is_share": 1}),
        Clause("{limit}", ("limit",)),
        Clause("nothing", says={"limit": {}}),
    ),
    ("request", "not_below_guarantee"): (
        Clause(
            "its queue {queue:name} has no guarantee, and only a queue within its guarantee preempts",
            ("queue",),
            {"guaranteed": 0},
        ),
        Clause(
            "its queue {queue:name} may have {owes} more within guarantees, less than it asks for, and it"
            " would not be within them even if all left that may leave",
            ("queue", "owed"),
        ),
        Clause("its queue {queue:name} has no guarantee of what it asks for", ("queue",)),
    ),
    ("request", "may_not_preempt_yet"): (
        Clause(
            "it may never preempt: it has allow_preempt_other off",
            where={"may_preempt": 0},
            says={"allow_preempt_other": False},
        ),
        Clause(
            "preemption.policy is disabled in its queue {queue:name}, so it preempts nothing",
            ("queue",),
            {"queue_disabled": 1},
        ),
        Clause(
            "it has preempted before, and does so once only (asks_once)",
            where={"triggered": 1},
            says={"asks_once": True},
        ),
        Clause(
            "it needs its node {row.required_node}, and preempts nowhere else",
            (("required_node", "row.required_node"),),
        ),
        Clause(
            "it has waited since {since}, and preemption.delay of its queue, {delay:span}, is over at"
            " {until}",
            ("since", "until", "delay"),
            {"delayed": 1},
        ),
        Clause(
            "its last attempt was {last_attempt}, and retry, {retry:span}, is over at {again_from}",
            ("last_attempt", "again_from", "retry"),
        ),
    ),
    # Why an allocation stays.
    ("allocation", "same_queue"): _OF_QUEUES,
    ("allocation", "other_queue"): _OF_QUEUES,
    ("part", "under"): tuple(
        Clause(
            f"under policy {policy} ",
            where={"within_queue": int(within)},
            says={"within_queue": within},
        )
        for policy, within in (("intra_queue", True), ("inter_queue", False))
    ),
    ("allocation", "frees_nothing_useful"): (
        Clause("it has nothing of the {claimed} that queues claim still", ("claimed",)),
        Clause("no queue claims more than it has", says={"claimed": {}}),
    ),
    ("allocation", "cycle_full"): (
        Clause(
            f"policy {{of_policy:part}} ended while {{asked:part}} still waited: {_AT_THE_LIMIT}",
            ("came_to", "ends_at"),
            {"within_queue": (0, 1)},
        ),
        Clause(
            "what leaves before it comes to {came_to:beside ends_at}, and the cycle ends at"
            " {ends_at:beside came_to} (limit is {most:part})",
            ("came_to", "ends_at"),
        ),
    ),
    ("allocation", "not_lower_priority"): (
        Clause(
            "its priority {priority:exact} is not lower than {asking_priority:exact}, that of {asked:part}",
            ("priority", "asking_priority"),
        ),
    ),
    ("allocation", "queue_keeps_it"): (
        Clause(
            f"for {{asked:part}}, queue {{queue:name}} gives nothing: {_KEEPS}, and dead_zone {{dead_zone}}"
            " keeps as much more",
            ("queue", "used", "guaranteed", "dead_zone"),
            {"in_dead_zone": 1},
        ),
        Clause(
            "for {asked:part}, queue {queue:name}, of which both are, would have less than it is owed: it"
            " uses {used:beside guaranteed}, and its guarantee is {guaranteed:beside used}",
            ("queue", "used", "guaranteed"),
            {"shared": 1},
        ),
        Clause(
            f"for {{asked:part}}, queue {{queue:name}} keeps what it is owed: {_KEEPS} and its ideal share"
            " {ideal:beside used}",
            ("queue", "used", "guaranteed", "ideal"),
        ),
    ),
    ("allocation", "not_a_candidate"): (
        *_because("holds_nothing", "it has nothing that {asked:part} asks for"),
        *_because(
            "asker_disabled",
            "preemption.policy is disabled in the queue of {asked:part}, so nothing is taken for it",
        ),
        *_because(
            "queue_disabled",
            "preemption.policy is disabled in its queue {queue:name}, so {asked:part} takes nothing from it",
        ),
        *_because(
            "outside_fence",
            "{asked:part} takes victims from within queue {fence:name} only, which is a fence or would have"
            " more than its max with it, and queue {queue:name} is not in it",
            "fence",
        ),
        *_because(
            "within_guarantee",
            "its queue {queue:name} is within its guarantees, which owe it no less than it has{owed:part}",
        ),
        *_because(
            "priority",
            "its priority {priority} is higher than {highest}, up to which {asked:part} takes victims in"
            " queue {queue:name}",
            *("priority", "highest"),
        ),
        *_because("priority", "a priority fence keeps {asked:part} from queue {queue:name}"),
        *_because("needs_its_node", "it may run on no other node, so it is not taken for {asked:part}"),
        Clause(
            "it may run on no other node, so it is not taken for {asked:part}",
            says={"because": "needs_its_node"},
        ),
    ),
    ("part", "owed"): (Clause(" ({owed} more)", ("owed",)), Clause("", says={"owed": {}})),
    ("allocation", "not_chosen"): (
        Clause("other victims make room for {asked:part}{placed_on:part}{place:part}"),
    ),
    ("part", "placed_on"): (Clause(", on {placed_on}", ("placed_on",)),),
    ("allocation", "no_start_in_stage"): (
        Clause(
            "no victims{of_queues:part} made room for {asked:part} when it was tried, so it took"
            " none{place:part}"
        ),
    ),
    ("part", "of_queues"): (
        Clause(" of its own queue", where={"within_queue": 1}, says={"within_queue": True}),
        Clause(" of other queues", where={"within_queue": 0}, says={"within_queue": False}),
    ),
    ("part", "place"): (
        Clause(
            "; it is candidate {place} of {candidates} on {where:part}, the cheapest first",
            ("place", "candidates"),
        ),
    ),
    ("part", "where"): (Clause("{node}"), Clause("its node")),
    # Why neither was looked at.
    ("unseen", "not_considered"): (
        Clause(
            "mode shotgun takes work between queues only, and policies has no inter_queue",
            where={"preemption": "cycles", "mode": "shotgun", "policies": ([], ["intra_queue"])},
            says={"mode": "shotgun"},
        ),
        Clause(
            "mode shotgun makes room for queues as a whole, and starts nothing itself",
            where={"preemption": "cycles", "mode": "shotgun", "what": "request"},
            says={"mode": "shotgun"},
        ),
        Clause("", where={"preemption": "cycles", "mode": "shotgun"}),
        Clause(
            "the cycle only holds queues to their max: it places no ask",
            where={"on": "quota", "what": "request"},
            says={"cycle": "quota"},
        ),
        Clause(
            "the cycle only holds queues to their max: it takes only from queues that use more than that",
            where={"on": "quota"},
            says={"cycle": "quota"},
        ),
        Clause("", where={"what": "request"}),
        Clause("no ask waits that found no room", where={"waits": False}, says={"waiting": 0}),
        Clause("no ask looked for victims on its node"),
    ),
    # What would have spared a victim, and what chose it.
    ("victim", "below_ideal_share"): _SURPLUS,
    ("victim", "surplus_of_queue"): _SURPLUS,
    **{
        ("victim", code): (
            Clause(
                f"; the allocation's priority was {{priority:exact}}, and {spared} it could not be"
                " preempted for this request",
                ("priority", "asking_priority"),
            ),
        )
        for code, spared in (
            ("higher_priority_in_queue", "with {asking_priority:exact} or more"),
            ("for_required_node", "above {asking_priority:exact}"),
        )
    },
    ("victim", "below_guarantee"): (
        Clause(
            "; it owes queue {queue:name} {owes_queue:part} more, and its own queue {own_queue:name} has"
            " {beyond:part} gives nothing to others",
            (("asking_queue", "queue"), ("queue", "own_queue")),
        ),
    ),
    ("part", "owes_queue"): (Clause("{owed}", ("owed",)), Clause("nothing", says={"owed": {}})),
    ("part", "beyond"): (
        Clause("{beyond} beyond what guarantees keep; a queue within them", ("beyond",)),
        Clause("none; a queue within one", says={"beyond": {}}),
    ),
    ("victim", "above_quota"): (
        Clause(
            "; queue {queue:name} used more than its max{over:part}; that was exceeded since {since}, longer"
            " than quota.preemption.delay ({delay:span})",
            ("queue", "since", "delay"),
        ),
    ),
    ("part", "over"): (
        Clause(", {used:of max}", ("used", "max")),
        Clause("", says={"used": {}, "max": {}}),
    ),
    ("allocation", "taken"): (
        Clause("nothing else might leave on {where:part}", ("place", "candidates"), {"candidates": 1}),
        Clause(
            "of {candidates} candidates on {where:part} it was number {place}{by:part}",
            ("place", "candidates"),
        ),
    ),
    ("part", "by"): (
        *(
            Clause(
                f": opted-out tasks and originators come last, and of the others {by} first",
                where={"preemption": "per_ask", "newest_before_lowest_priority": newest},
            )
            for by, newest in (("the newest", True), ("the lowest priority, then the newest", False))
        ),
        *(
            Clause(f", by cost: {', '.join(_COST[one] for one in of)}", ("cost",), {"cost": name})
            for name, of in _NAMED.items()
        ),
        Clause(", by cost: {cost:each}", ("cost",)),
    ),
    **{("cost", name): (Clause(text),) for name, text in _COST.items()},
}
