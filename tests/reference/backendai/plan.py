"""One scheduling run as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.systems.backendai.settings import BackendAISettings
from tests.reference.backendai.room import Placed, Room, bar, in_force, lacking, mode_of, will_keep
from tests.reference.backendai.victims import candidates, choose, freed, ordered, usable
from tests.reference.backendai.world import Amounts, Container, Request, Session, World, read_world

if TYPE_CHECKING:
    from evenhand.model import Snapshot

__all__ = ["_Run"]

Needs = list[tuple[Request | Container, Amounts]]


class _Run:
    """A scheduling run: room and sessions between two decisions; `session_replay` drives one, too."""

    def __init__(
        self, snapshot: Snapshot, settings: BackendAISettings, state: Mapping[str, Any] | None = None
    ) -> None:
        self.world: World = read_world(snapshot, settings, state)
        self.settings = settings
        self.fixed: list[Placed] = []  # started, resumed and reserved in this run
        self.kept: dict[tuple[Any, str], int] = {}  # of free room, for sessions that wait
        self.standing: list[Placed] = []  # where those will stand
        self.resumed: set[Container] = set()
        self.claimed: list[Session] = []
        self.decisions: list[dict[str, Any]] = []
        self.started: set[Any] = set()
        self.rules: dict[Session, str] = {}
        self.failed: dict[Session, Any] = {}  # the request that found no place
        self.slots = 0  # nodes on which it might have stood
        self.rooms: list[dict[str, Amounts]] = []  # of each decision: what was free, and what was needed
        self.places: dict[tuple[Session, Session], tuple[int, int]] = {}  # for whom, and who, of how many
        self.wanted: list[Session] = []  # the last candidates on one agent, in order
        self.lacks: dict[Session, list[Amounts]] = {}  # what each node lacked for that
        self.asked: list[Session] = []  # that looked for victims, or might have
        self.placed_for: dict[Session, list[Placed]] = {}  # where those will stand that others leave for
        self.step = 0

    def room(self, **suppositions: Any) -> Room:
        released = (*suppositions.pop("released", ()), *self.resumed)
        suppositions |= {"fixed": self.fixed, "kept": self.kept, "standing": self.standing}
        return Room(self.world, self.settings, released=released, **suppositions)

    def rule_of(self, request: Request) -> str:
        """Return what is said of one request of a session that waits."""
        rule = self.rules.get(request.session, "behind_first_waiting")
        of_one = ("no_free_room", "no_room_even_with_victims", "max_containers", "wrong_node", "wrong_tags")
        if rule not in (*of_one, "node_not_schedulable") or self.failed[request.session] == request.name:
            return rule
        return "other_request_waits"

    # The queue.

    def queue(self) -> list[tuple[Session, bool, Needs]]:
        found = []
        for s in self.world.sessions:
            asleep: Needs = [(c, self.to_resume(c)) for c in s.containers if c.state == "preempted"]
            waiting: Needs = [(r, r.amounts) for r in s.requests for _ in range(r.count)]
            found += [(s, True, asleep)] if asleep else []
            found += [(s, False, waiting)] if waiting and s.refused is None else []

        def key(entry: tuple[Session, bool, Needs]) -> tuple[Any, ...]:
            s, suspended, _ = entry
            submitted = s.submitted if suspended else min(r.submitted for r in s.waiting())
            return -s.priority, not suspended, self.sequence(s), submitted, s.place

        return sorted(found, key=key)

    def sequence(self, s: Session) -> float:
        if self.settings.sequencer == "lifo":
            return -min([r.submitted for r in s.waiting()], default=s.submitted)
        if self.settings.sequencer == "fifo":
            return 0
        mine = [o for o in self.world.sessions if o.user == s.user]
        shares = [0.0]
        for r in self.world.resources:
            total = sum(n["capacity"][r] for n in self.world.nodes.values() if n["schedulable"])
            total += self.world.in_cluster.get(r, 0)
            held = sum(self.usage(c)[r] for o in mine for c in o.containers)
            shares.append(held / total if total else 0.0)
        return max(shares)

    def usage(self, c: Container) -> Amounts:
        none = dict.fromkeys(c.amounts, 0)
        return {"preempting": none, "preempted": c.held}.get(c.state, c.amounts)

    def to_resume(self, c: Container) -> Amounts:
        keep = self.settings.suspend_approach == "keep" and c.node is not None
        return {r: a - (c.held[r] if keep else 0) for r, a in c.amounts.items()}

    # The run.

    def go(self) -> None:
        queue = self.queue()
        admitted = self.admit(queue) if self.settings.preemptor_room == "reserved" else set()
        for number, (session, suspended, needs) in enumerate(queue):
            if session in admitted and not suspended:
                continue
            placed = self.place(session, suspended, needs, tell=True)
            if placed is not None:
                self.start(session, placed, suspended)
                continue
            barred = [(what, why) for what, _ in needs if (why := self.barred(what)) is not None]
            if barred:
                self.failed[session], rule = barred[0][0].name, barred[0][1]
            else:
                rule = self.preempt(session, needs, self.may_preempt(session, suspended, first=number == 0))
                if rule != "waits_for_victims" and not self.slots:
                    rule = "max_containers"
            if not suspended:
                self.rules[session] = rule
            if barred and self.settings.blocked_by == "lack_of_resources":
                continue
            if rule == "waits_for_victims" and self.settings.preemptors == "every":
                continue
            return

    def may_preempt(self, session: Session, suspended: bool, *, first: bool) -> str | None:
        """Return why a session may not preempt."""
        if suspended:
            return "no_free_room"
        if not self.settings.enabled:
            return "preemption_disabled"
        if session.kind == "system":
            return "system_does_not_preempt"
        return None if first or self.settings.preemptors == "every" else "not_first_in_queue"

    def place(
        self, session: Session, suspended: bool, needs: Needs, *, tell: bool = False, **suppositions: Any
    ) -> list[Placed] | None:
        """Place everything one after the other, or nothing; and note what found no place."""
        again = [c for c, _ in needs if isinstance(c, Container)]
        if self.settings.suspend_approach == "keep":
            again = []
        placed: list[Placed] = []
        for what, amounts in needs:
            room = self.room(
                whose=None if suspended else session, placed=placed, released=again, **suppositions
            )
            node = room.best(what, amounts)
            if node is None:
                if tell:
                    self.note(session, what, room)
                return None
            placed.append(Placed(what, node, amounts))
        return placed

    def note(self, session: Session, what: Request | Container, room: Room) -> None:
        """Note what found no place, and on how many nodes it might have stood."""
        self.failed[session] = what.name
        able = [n for n in self.world.nodes if room.allowed(what, n)]
        amounts = self.to_resume(what) if isinstance(what, Container) else what.amounts
        self.slots, self.lacks[session] = len(able), [lacking(room, amounts, n) for n in able]

    def barred(self, what: Request | Container) -> str | None:
        """Return why something can run nowhere, whatever the room: of the nodes that come nearest."""
        bars = [bar(what, node, self.world, self.settings) for node in self.world.nodes]
        if None in bars:
            return None
        nearest = ("node_not_schedulable", "wrong_tags", "wrong_node")
        return next((why for why in nearest if why in bars), "no_nodes")

    def tell(self, room: Room, node: Any, needed: Amounts) -> None:
        """Note what is free on a node (None: in the cluster) at a decision, and what is needed there."""
        wide, all_of = self.world.in_cluster, self.world.resources
        free = {r: room.free(node, r) if node is not None or r in wide else 0 for r in all_of}
        self.rooms.append({"free": free, "needed": {r: a for r, a in needed.items() if a}})

    def start(self, session: Session, placed: list[Placed], suspended: bool, reason: str = "") -> None:
        again = [p.what for p in placed if isinstance(p.what, Container)]
        if self.settings.suspend_approach == "keep":
            again = []
        for i, p in enumerate(placed):
            whose = None if suspended else session
            self.tell(self.room(whose=whose, placed=placed[:i], released=again), p.node, p.amounts)
            self.decisions.append(
                {
                    "action": "resume" if suspended else "start",
                    "allocation": p.what.name if suspended else None,
                    "request": None if suspended else p.what.name,
                    "operation": session.name,
                    "node": self.world.nodes[p.node]["name"],
                    "reason": reason or ("resumes" if suspended else "fits_free_room"),
                    "stage": "scheduling_run",
                    "step": self.step,
                }
            )
            if isinstance(p.what, Container) and self.settings.suspend_approach != "keep":
                self.resumed.add(p.what)
            if not suspended:
                self.started.add(p.what.name)
        self.step += 1
        self.fixed += placed
        names = {r.name for r in session.requests} if not suspended else set()
        self.world.reservations = [r for r in self.world.reservations if r.get("request") not in names]

    def admit(self, queue: list[tuple[Session, bool, Needs]]) -> set[Session]:
        """Start sessions for which all room is reserved and free; first reserved first."""
        due = []
        for session, suspended, _ in queue:
            held = self.world.reservations
            rows = {r.name: [row for row in held if self.serves(row, r)] for r in session.waiting()}
            if suspended or any(len(rows[r.name]) < r.count for r in session.waiting()):
                continue
            times = [row["from"] for found in rows.values() for row in found if row.get("from") is not None]
            placed = [
                Placed(r, row["node"], r.amounts)
                for r in session.waiting()
                for row in rows[r.name][: r.count]
            ]
            due.append((bool(times), min(times, default=0), session.place, session, placed))
        names = {r.name for *_, session, _ in due for r in session.requests}
        others = [row for row in self.world.reservations if row.get("request") not in names]
        blocked: set[Any] = set()
        admitted = set()
        for *_, session, placed in sorted(due, key=lambda entry: entry[:3]):
            allowed = all(self.room(placed=placed[:i]).takes_one_more(p.node) for i, p in enumerate(placed))
            behind = any(p.node in blocked for p in placed)
            if not allowed or not self.stand(placed, reservations=others, all_left=True):
                continue
            admitted.add(session)
            if not behind and self.stand(placed, reservations=others):
                self.start(session, placed, suspended=False, reason="reservation_due")
            else:
                blocked |= {p.node for p in placed}
                self.rules[session] = "behind_first_waiting" if behind else "waits_for_victims"
        return admitted

    def stand(self, placed: list[Placed], **suppositions: Any) -> bool:
        """Return whether there is room for all of these."""
        rooms = [self.room(placed=placed[:i], **suppositions) for i in range(len(placed))]
        return all(room.fits(p.amounts, p.node) for room, p in zip(rooms, placed, strict=True))

    def serves(self, row: dict[str, Any], request: Request) -> bool:
        """Return whether a reservation holds all of a request, where that may run."""
        if row.get("request") != request.name or not in_force(row, self.world):
            return False
        enough = all(a <= row["amounts"][r] for r, a in request.amounts.items())
        return enough and bar(request, row["node"], self.world, self.settings) is None

    # Victims.

    def preempt(self, session: Session, needs: Needs, may_not: str | None) -> str:
        if may_not == "no_free_room":
            return may_not
        served = self.place(session, False, needs, leaving_counts=True)
        if served is not None:
            self.keep(session, [], served)
            return "waits_for_victims"
        self.asked.append(session)
        if may_not is not None:
            return may_not
        found = candidates(self.world, self.settings, session, self.claimed)
        if not found:
            return "no_lower_priority"
        by_agent = self.settings.victim_area == "agent"
        chosen = (self.per_agent if by_agent else self.group_wide)(session, needs, found)
        if chosen is None:
            return "no_room_even_with_victims"
        victims, placed = chosen
        self.placed_for[session] = placed
        for victim, request in victims:
            self.take(session, victim, request, placed)
            self.world.pace.took(victim.name, victim.pool)
        self.claimed += [victim for victim, _ in victims]
        if self.settings.preemptor_room == "reserved":
            for i, p in enumerate(placed):
                room = self.room(whose=session, leaving_counts=True, placed=placed[:i])
                self.tell(room, p.node, p.amounts)
                self.decisions.append(
                    {
                        "action": "reserve",
                        "allocation": None,
                        "request": p.what.name,
                        "operation": session.name,
                        "node": self.world.nodes[p.node]["name"],
                        "reason": "room_reserved",
                        "stage": "scheduling_run",
                        "step": self.step,
                    }
                )
            self.fixed += placed
        else:
            self.keep(session, [victim for victim, _ in victims], placed)
        self.step += 1
        return "waits_for_victims"

    def keep(self, session: Session, victims: list[Session], placed: list[Placed]) -> None:
        """Keep what a session needs beside the room that is made for it."""
        now = self.room()
        then = self.room(whose=session, leaving_counts=True, gone=victims, placed=placed)
        for r in self.world.resources:
            for node in [None] if r in self.world.in_cluster else self.world.nodes:
                less = now.free(node, r) - then.free(node, r)
                if less > 0:
                    self.kept[node, r] = self.kept.get((node, r), 0) + less
        self.standing += placed

    def group_wide(
        self, session: Session, needs: Needs, found: list[Session]
    ) -> tuple[list[tuple[Session, Any]], list[Placed]] | None:
        """Choose in one order over all nodes."""
        self.place(session, False, needs, tell=True, leaving_counts=True, gone=found)

        def suffices(gone: list[Session]) -> bool:
            return self.place(session, False, needs, leaving_counts=True, gone=gone) is not None

        wanted = self.wanted_group_wide(session, needs, found)
        self.places |= {(session, s): (i, len(wanted)) for i, s in enumerate(wanted, 1)}
        victims = choose(wanted, self.settings, suffices, self.world.costs)
        while beyond := self.world.beyond_caps(victims):
            wanted = [s for s in wanted if s not in beyond]
            victims = choose(wanted, self.settings, suffices, self.world.costs)
        if not victims:
            return None
        placed = self.place(session, False, needs, leaving_counts=True, gone=victims) or []
        return [(victim, None) for victim in victims], placed

    def wanted_group_wide(self, session: Session, needs: Needs, found: list[Session]) -> list[Session]:
        """Return those that free anything of use, as they are wanted."""
        all_gone = self.room(whose=session, leaving_counts=True, gone=found)
        nodes = usable(all_gone, needs)
        now = self.room(whose=session, leaving_counts=True)

        def useful(s: Session) -> bool:
            return any(
                (c.node in nodes or r in self.world.in_cluster)
                and amounts[r] > 0
                and freed(c, self.world, self.settings)[r] > 0
                for c in s.running()
                for _, amounts in needs
                for r in self.world.resources
            )

        def size(s: Session) -> float:
            if self.settings.preemption_order == "smallest-resources":
                return sum(self.world.in_units(c.amounts) for c in s.running())
            covered = 0.0
            for c in s.running():
                gives = freed(c, self.world, self.settings)
                lacks = {
                    r: max(0, *(a[r] - now.free(c.node, r) for _, a in needs))
                    for r in self.world.resources
                    if c.node is not None or r in self.world.in_cluster
                }
                covered += self.world.in_units({r: min(gives[r], lacks[r]) for r in lacks})
            return -covered

        return ordered([s for s in found if useful(s)], self.settings, size)

    def per_agent(
        self, session: Session, needs: Needs, left: list[Session]
    ) -> tuple[list[tuple[Session, Any]], list[Placed]] | None:
        """Choose on one agent for each request, as release 26.8 does."""
        while True:
            chosen = self.on_agents(session, needs, left)
            beyond = [] if chosen is None else self.world.beyond_caps([victim for victim, _ in chosen[0]])
            if not beyond:
                return chosen
            left = [s for s in left if s not in beyond]

    def on_agents(
        self, session: Session, needs: Needs, left: list[Session]
    ) -> tuple[list[tuple[Session, Any]], list[Placed]] | None:
        """Choose from those that are left."""
        placed: list[Placed] = []
        victims: list[tuple[Session, Any]] = []
        left = list(left)
        self.places = {key: at for key, at in self.places.items() if key[0] is not session}

        def room(*more: Session) -> Room:
            gone = [victim for victim, _ in victims]
            return self.room(whose=session, leaving_counts=True, gone=[*gone, *more], placed=placed)

        for what, amounts in needs:
            node = room().best(what, amounts)
            if node is None:
                full = room(*left)
                able = [n for n in self.world.nodes if full.fits(amounts, n) and full.allowed(what, n)]
                keys = {n: self.agent_key(n, amounts, left, room) for n in able}
                least = min(keys.values(), default=0)
                node = full.best(what, amounts, [n for n in able if keys[n] == least])
                if node is None:
                    self.note(session, what, full)
                    return None
                for victim in self.collect(node, amounts, left, room):
                    victims.append((victim, what.name))
                    left.remove(victim)
                among = len(self.wanted)
                self.places |= {(session, s): (i, among) for i, s in enumerate(self.wanted, 1)}
            placed.append(Placed(what, node, amounts))
        return victims, placed

    def agent_key(self, node: Any, amounts: Amounts, left: list[Session], room: Any) -> float:
        if self.settings.preemption_order == "fewest-sessions":
            return len(self.collect(node, amounts, left, room))
        if self.settings.preemption_order == "smallest-resources":
            chosen = self.collect(node, amounts, left, room)
            return sum(self.world.in_units(self.here(s, node)) for s in chosen)
        return 0

    def here(self, s: Session, node: Any) -> Amounts:
        """Return what a session gives back for a node."""
        gives = [(c.node, freed(c, self.world, self.settings)) for c in s.running()]
        return {
            r: sum(g[r] for n, g in gives if n == node or r in self.world.in_cluster)
            for r in self.world.resources
        }

    def collect(self, node: Any, amounts: Amounts, left: list[Session], room: Any) -> list[Session]:
        """Return the victims that make amounts fit on a node."""
        base = room()

        def lacks(taken: list[Session]) -> Amounts:
            return self.lacks_on(node, amounts, base, taken)

        def helps(one: Session, taken: list[Session]) -> bool:
            missing, gives = lacks(taken), self.here(one, node)
            return any(missing[r] > 0 and gives[r] > 0 for r in missing)

        self.wanted = self.wanted_on(node, amounts, left, base)
        return choose(
            self.wanted, self.settings, lambda gone: not any(lacks(gone).values()), self.world.costs, helps
        )

    def lacks_on(self, node: Any, amounts: Amounts, base: Room, taken: Sequence[Session] = ()) -> Amounts:
        """Return what a node lacks for amounts once some have gone."""
        gains = [self.here(s, node) for s in taken]
        return {
            r: max(0, a - base.free(node, r) - sum(g[r] for g in gains)) if a > 0 else 0
            for r, a in amounts.items()
        }

    def wanted_on(self, node: Any, amounts: Amounts, left: list[Session], base: Room) -> list[Session]:
        """Return those that give anything back for a node, as they are wanted."""
        missing = self.lacks_on(node, amounts, base)

        def size(s: Session) -> float:
            holds = self.here(s, node)
            if self.settings.preemption_order == "smallest-resources":
                return self.world.in_units(holds)
            return -self.world.in_units({r: min(holds[r], missing[r]) for r in missing})

        return ordered([s for s in left if any(self.here(s, node).values())], self.settings, size)

    def take(self, session: Session, victim: Session, request: Any, placed: list[Placed]) -> None:
        for c in victim.running():
            stands = next((p.what.name for p in placed if p.node == c.node), session.waiting()[0].name)
            kept: Mapping[str, int] = will_keep(c, self.world, self.settings)
            needed = self.needed(c, placed)
            self.tell(self.room(whose=session, leaving_counts=True), c.node, needed)
            self.decisions.append(
                {
                    "action": "preempt",
                    "allocation": c.name,
                    "request": None,
                    "operation": victim.name,
                    "node": None if c.node is None else self.world.nodes[c.node]["name"],
                    "mode": mode_of(victim, self.settings),
                    "reason": "lower_priority",
                    "stage": "scheduling_run",
                    "step": self.step,
                    "beneficiary": {
                        "operation": session.name,
                        "request": stands if request is None else request,
                    },
                    "freed": self.amounts(freed(c, self.world, self.settings)),
                    "kept": self.amounts(kept),
                }
            )

    def needed(self, c: Container, placed: list[Placed]) -> Amounts:
        """Return what of all that is placed a container's room can serve."""
        gives = freed(c, self.world, self.settings)
        return {
            r: sum(
                p.amounts[r]
                for p in placed
                if (gives[r] > 0 if r in self.world.in_cluster else p.node == c.node)
            )
            for r in self.world.resources
        }

    def amounts(self, quanta: Mapping[str, int]) -> dict[str, float]:
        return {r: a * self.world.quantum[r] for r, a in quanta.items() if a}
