"""Render the library's own HTML in chromium, 1,000 pixels wide; fail on what is cut or scrolls sideways.

``python tools/look_at_tables.py PICTURES``: snapshots, shares, plans, explanations, settings and sweeps, of
the bundled cluster and of one with long names, in light and in dark; a picture of each is kept.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from look_at_pages import chromium

import evenhand as eh

WIDTH, HEIGHT = 1000, 3000
GROUNDS = {"light": ("#ffffff", "#1f2328"), "dark": ("#14181e", "#e6edf3")}
PROBE = """<!doctype html><html data-theme="{theme}"><meta charset="utf-8">
<body style="background: {ground}; color: {ink}; font-family: sans-serif">{body}<pre id="found"></pre>
<script>
addEventListener("load", () => {{
  const found = [];
  for (const part of document.querySelectorAll("section")) {{
    for (const folded of part.querySelectorAll("details")) folded.open = true;
    const shown = part.querySelector(".evenhand"), end = shown.getBoundingClientRect().right;
    if (shown.scrollWidth > shown.clientWidth) found.push(part.id + ": " + shown.scrollWidth + " pixels");
    for (const cell of shown.querySelectorAll("td, th, .eh-row > span"))
      if (cell.getBoundingClientRect().right > end + 1) found.push(part.id + ": " + cell.textContent);
  }}
  document.getElementById("found").textContent = "FOUND" + found.slice(0, 20).join("\\n") + "END";
}});
</script>"""
LONG = "a-department/of-a-long-name/with-teams/and-people"
CHIP = "example.com/accelerator-of-the-third-generation"


def long_names() -> eh.Snapshot:
    """Return a small cluster in which everything has a long name and long numbers."""
    nodes = [f"node-of-a-long-name-{i:04}.cluster.example.com" for i in range(3)]
    jobs = [f"{i}-{LONG}-operation-of-a-long-name" for i in range(4)]
    amounts = {"cpu": 7.125, "memory": 12345, CHIP: 1}
    return eh.Snapshot.from_dict(
        {
            "now": 1767225600.25,
            "resources": {"cpu": {"quantum": 0.001}, "memory": {"unit": "GiB"}, CHIP: {}},
            "nodes": [{"name": n, "capacity": {"cpu": 64, "memory": 123456, CHIP: 8}} for n in nodes],
            "pools": [{"name": f"{i}-{LONG}", "strong_guarantee": amounts, "weight": 1.25} for i in range(4)],
            "operations": [{"name": job, "pool": f"{i}-{LONG}"} for i, job in enumerate(jobs)],
            "allocations": [
                {"name": f"{i}-allocation-on-{node}", "operation": jobs[0], "node": node}
                | {"resources": amounts, "start_time": 1767225000 + i}
                for node in nodes
                for i in range(8)
            ],
            "requests": [
                {"name": f"{i}-request-of-a-long-name", "operation": job, "resources": amounts, "count": 3}
                for i, job in enumerate(jobs[1:])
            ],
        }
    )


def shown() -> dict[str, Any]:
    """Return what notebooks show, by a word."""
    snapshot, policy = (
        eh.synthetic.demo(),
        eh.policies.YTsaurus(fair_share_aggressive_starvation_timeout="2h"),
    )
    plan = eh.plan(snapshot, policy, as_if_waiting="10m")
    small = eh.plan(long_names(), policy, as_if_waiting="10m")
    other = policy.replace(preemption_satisfaction_threshold=1.2, pace={"victim_cooldown": "1h"})
    work = eh.synthetic.workload(jobs=400, nodes=16, seed=1)
    start, space = work.snapshot(), {"fair_share_starvation_timeout": ["30s", "10m"]}
    return {
        "snapshot": snapshot,
        "shares": plan.shares,
        "plan": plan,
        "decisions": plan.decisions,
        "statuses": plan.statuses,
        "refusals": plan.refusals,
        "table": plan.table(),
        "victim": plan.why(plan.decisions.victims[0].allocation or 0),
        "refused": plan.why_not(plan.refusals[0].request or 0),
        "difference": plan.diff(eh.plan(snapshot, other, as_if_waiting="10m")),
        "share": plan.shares.why("mobile"),
        "element": plan.shares.element("mobile"),
        "settings": other,
        "sweep": eh.sweep.sweep(start, policy, work, space, until=start.now + 86_400),
        "long snapshot": small.snapshot,
        "long shares": small.shares,
        "long plan": small,
        "long victim": small.why(small.decisions.victims[0].allocation or 0),
        "long refused": small.why_not("2-request-of-a-long-name"),
    }


def main() -> int:
    """Look at all of them on each ground."""
    pictures, things, wrong = Path(sys.argv[1]).resolve(), shown(), 0
    pictures.mkdir(parents=True, exist_ok=True)
    body = "".join(f'<section id="{word}">{one._repr_html_()}</section>' for word, one in things.items())
    for theme, (ground, ink) in GROUNDS.items():
        with tempfile.TemporaryDirectory() as folder:
            probe = Path(folder) / "tables.html"
            probe.write_text(PROBE.format(theme=theme, ground=ground, ink=ink, body=body), "utf-8")
            dom = chromium(f"--window-size={WIDTH},{HEIGHT}", "--dump-dom", probe.as_uri())
            picture = pictures / f"tables.{theme}.png"
            chromium(f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={picture}", probe.as_uri())
        (found,) = re.findall(r"FOUND(.*?)END</pre>", dom, re.DOTALL)
        for line in filter(None, found.split("\n")):
            wrong += 1
            print(f"{theme}: {line}")
    print(f"{len(things)} tables, {wrong} findings, pictures in {pictures}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
