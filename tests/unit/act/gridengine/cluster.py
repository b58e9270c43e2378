"""A small Grid Engine: it answers the commands of the adapter in the words of an 8.1.9."""

from __future__ import annotations

import os
import pwd
from collections.abc import Callable, Sequence
from typing import Any

from evenhand.adapters.commands import Result
from tests.shared import DATA

RECORDED = DATA / "gridengine"
T0 = 1_700_000_000.0


class Clock:
    """Time that passes only when somebody waits."""

    def __init__(self, now: float = T0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def job(state: str = "r", **more: Any) -> dict[str, Any]:
    """Return a job: in low.q on one slot if it runs."""
    return {"state": state, "hold": False, "start": T0 - 1000, "priority": 0.5, "ckpt": 0, "rerun": 1, **more}


class Engine:
    """One host with four slots in ``low.q``; who waits starts as soon as a slot is free.

    Attributes
    ----------
    jobs : dict of int to dict
    asked : list of tuple
        Commands that act.
    manager : bool
        Whether the user may set system holds.
    stuck : bool
        Whether a job that is to migrate stays suspended.
    """

    def __init__(self, jobs: dict[int, dict[str, Any]], clock: Clock) -> None:
        self.jobs, self.clock = jobs, clock
        self.asked: list[tuple[str, ...]] = []
        self.manager, self.stuck, self.reachable = True, False, True
        self.managers: tuple[str, ...] = (pwd.getpwuid(os.geteuid()).pw_name, "root")
        self.owner = "u"
        self.options: dict[str, Any] = {}  # with which an adapter was made
        self.garbled: Callable[[str], str] = lambda text: text  # what qstat -j prints

    def __call__(self, arguments: Sequence[str], timeout: float) -> Result:
        words = tuple(arguments[2:]) if arguments[0] == "env" else tuple(arguments)
        if not self.reachable:
            return Result(1, "", "error: commlib error: got select error (Connection refused)")
        program = words[0]
        if program == "qalter":
            self.jobs[int(words[-1])]["context"] = words[2]
            return Result(0, f"modified context of job {words[-1]}\n")
        if program in ("qmod", "qdel", "qhold", "qrls"):
            self.asked.append(words)
            return self._act(program, words[1:])
        return Result(0, self._said(program, words[1:]))

    # What it says

    def _said(self, program: str, words: tuple[str, ...]) -> str:
        if program == "qhost":
            return (
                "<qhost><host name='global'/><host name='h'><queue name='low.q'>"
                "<queuevalue name='slots'>4</queuevalue><queuevalue name='state_string'></queuevalue>"
                "</queue></host></qhost>"
            )
        if program == "qconf":
            return {
                "-sc": "slots s INT <= YES YES 1 1000\n",
                "-sq": "qname low.q\nslots 4\nrerun TRUE\nckpt_list saves\n",
                "-ssconf": "algorithm default\nmax_reservation 10\n",
                "-sel": "h\n",
                "-se": f"hostname {words[-1]}\ncomplex_values NONE\n",
                "-sss": "master\n",
                "-spl": "",
                "-srqsl": "",
                "-sm": "\n".join(self.managers) + "\n",
            }[words[0]]
        if "-j" in words:
            return self.garbled(self._details(words[-1]))
        self.schedule()
        return self._list(only_held="hs" in words)

    def _list(self, *, only_held: bool) -> str:
        runs, waits = "", ""
        for number, one in self.jobs.items():
            if only_held and not one["hold"]:
                continue
            waiting = "q" in one["state"]
            state = ("h" if one["hold"] else "") + one["state"]
            row = (
                f"<job_list><JB_job_number>{number}</JB_job_number><JAT_prio>{one['priority']}</JAT_prio>"
                f"<JB_owner>{self.owner}</JB_owner><state>{state}</state><JAT_start_time>{int(one['start'])}</JAT_start_time>"
                f"<queue_name>{'' if waiting else 'low.q@h'}</queue_name><slots>1</slots></job_list>"
            )
            runs, waits = (runs, waits + row) if waiting else (runs + row, waits)
        return f"<job_info><queue_info>{runs}</queue_info><job_info>{waits}</job_info></job_info>"

    def _details(self, names: str) -> str:
        wanted = self.jobs if names == "*" else [int(n) for n in names.split(",") if int(n) in self.jobs]
        rows = "".join(
            f"<element><JB_job_number>{n}</JB_job_number><JB_submission_time>{int(T0 - 2000)}"
            f"</JB_submission_time><JB_reserve>true</JB_reserve><JB_restart>{self.jobs[n]['rerun']}</JB_restart>"
            + (
                f"<JB_checkpoint_name>saves</JB_checkpoint_name>"
                f"<JB_checkpoint_attr>{self.jobs[n]['ckpt']}</JB_checkpoint_attr>"
                if self.jobs[n]["ckpt"]
                else ""
            )
            + "</element>"
            for n in wanted
        )
        if not rows:
            return "<unknown_jobs><ST_name>*</ST_name></unknown_jobs>"
        return f"<detailed_job_info><djob_info>{rows}</djob_info></detailed_job_info>"

    # What it does

    def schedule(self) -> None:
        """Let those that write a checkpoint return to the queue, then start what fits."""
        for one in self.jobs.values():
            if one.get("migrating") and not self.stuck:
                one.update(state="Rq", migrating=False)
        taken = sum("q" not in one["state"] for one in self.jobs.values())
        waiting = [one for one in self.jobs.values() if "q" in one["state"] and not one["hold"]]
        for one in sorted(waiting, key=lambda one: -one["priority"]):
            if taken < 4 and one["start"] < self.clock():
                one.update(state="Rr" if "R" in one["state"] else "r", start=self.clock())
                taken += 1

    def _act(self, program: str, words: tuple[str, ...]) -> Result:
        one = self.jobs.get(int(words[-1]))
        if one is None:
            return Result(1, f'denied: job "{words[-1]}" does not exist\n')
        if program in ("qhold", "qrls"):
            if not self.manager:
                return Result(10, 'denied: "u" must be manager to set manager hold\n')
            one["hold"] = program == "qhold"
            return Result(0, f"modified hold of job {words[-1]}\n")
        if program == "qdel":
            del self.jobs[int(words[-1])]
            return Result(0, f"u has registered the job {words[-1]} for deletion\n")
        return self._modify(words, one)

    def _modify(self, words: tuple[str, ...], one: dict[str, Any]) -> Result:
        name = words[-1]
        if "q" in one["state"]:
            return Result(0)  # as the real one: no word, status 0
        if "-usj" in words:
            one.update(state="R" + "r" if "R" in one["state"] else "r", migrating=False)
            return Result(0, f"u - unsuspended job {name}\n")
        if "-sj" in words:
            one.update(state="s", migrating=bool(one["ckpt"] & 4))
            return Result(0, f"u - suspended job {name}\n")
        if one["ckpt"] and "-f" not in words:
            return Result(0, f"{name} requests ckpt object saves. Therefore this job is not restartable.\n")
        if (one["rerun"] == 2 or one.get("stubborn")) and "-f" not in words:
            return Result(0, f"The job {name} is not restartable\n")
        one.update(state="Rq")
        return Result(0, f"Pushed rescheduling of job {name} on host h\n")
