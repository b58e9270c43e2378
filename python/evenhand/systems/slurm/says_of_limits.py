"""What Slurm says of the limits of QOS and associations, by the names that they have there."""

from __future__ import annotations

from typing import Any, Final

from evenhand.systems.reason import Clause

__all__ = ["LIMITS", "SAYS_OF_LIMITS"]

#: What limits are of, in the core's order: fields of amounts and of jobs: of a QOS, of an association.
LIMITS: Final = {
    "group": ("GrpTRES", "GrpJobs", "GrpTRES", "GrpJobs"),
    "user": ("MaxTRESPU", "MaxJobsPU", "", "MaxJobs"),
    "account": ("MaxTRESPA", "MaxJobsPA", "", ""),
    "job": ("MaxTRES", "", "MaxTRES", ""),
    "node": ("MaxTRESPerNode", "", "MaxTRESPerNode", ""),
    "group_run": ("GrpTRESRunMins", "", "GrpTRESRunMins", ""),
    "user_run": ("MaxTRESRunMinsPU", "", "", ""),
    "account_run": ("MaxTRESRunMinsPA", "", "", ""),
    "least": ("MinTRES", "", "", ""),
    "wall": ("MaxWall", "", "MaxWall", ""),
    "unread": ("unread_limits", "", "unread_limits", ""),
}
_LIMIT = ("of", "used", "asked", "most")


def _limit(kind: str, field: str, where: dict[str, Any]) -> Clause:
    """Return what is said of a limit by the name of its field."""
    if kind == "wall":
        text = f"its job asks for {{asked:span}}, and `{field}` of {{whose_limit:part}} is {{most:span}}"
        return Clause(text, _LIMIT, where, {"limit": field})
    measure = ("minutes of " if kind.endswith("_run") else "") + "{measure}"
    asked, used = "{asked:beside most}", "{used:beside most}"
    if kind in ("job", "node", "least"):
        text = f"its job asks for {asked} {measure}, and `{field}` of {{whose_limit:part}} is {{most}}"
    else:
        text = f"`{field}` of {{whose_limit:part}} is {{most}} {measure}: {used} are in use, and it asks for"
        text += f" {asked}"
    return Clause(text, (*_LIMIT, "measure"), where, {"limit": field})


def _limits() -> tuple[Clause, ...]:
    """Return what is said of each kind of limit, of QOS and of associations, of jobs and of amounts."""
    found = [
        Clause(
            "{limits} of {whose_limit:part} cannot be judged, and no job that falls under it starts",
            ("limits", "of"),
        )
    ]
    for number, (kind, fields) in enumerate(LIMITS.items()):
        for association in (False, True):
            amounts, jobs = fields[2:] if association else fields[:2]
            where = {"kind": number, "of_association": int(association)}
            found += [_limit(kind, jobs, {**where, "measure": "jobs"})] if jobs else []
            found += [_limit(kind, amounts, where)] if amounts and kind != "unread" else []
    return tuple(found)


#: As those of other outcomes.
SAYS_OF_LIMITS: Final = {
    ("request", "limit_reached"): _limits(),
    ("part", "whose_limit"): (Clause("association {of}", where={"of_association": 1}), Clause("QOS {of}")),
}
