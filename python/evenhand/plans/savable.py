"""Plans as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from evenhand.accepted import checked

if TYPE_CHECKING:
    import os

    from evenhand.plans.plan import Plan

__all__ = ["Savable"]


class Savable:
    """What can be written to a file with all that it was made from."""

    __slots__ = ()

    @checked("Plan.save")
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what the plan was made from to a file; compressed if its name ends in ``.gz``.

        Parameters
        ----------
        path : str or path-like

        Raises
        ------
        InputError
            If it cannot be made again of that: it has given values, or commands of its own.
        OSError
            If it cannot be written.
        """
        from evenhand.plans.saved import save

        save(cast("Plan", self), path)

    @classmethod
    @checked("Plan.load")
    def load(cls, path: str | os.PathLike[str]) -> Plan:
        """Return a plan that `save` or ``evenhand plan --save`` wrote: made again, and equal to that one.

        Parameters
        ----------
        path : str or path-like

        Returns
        -------
        Plan

        Raises
        ------
        InputError
            If the file is no complete saved plan, or this version decides otherwise.
        OSError
            If it cannot be read.

        Examples
        --------
        >>> import evenhand as eh, tempfile
        >>> plan = eh.plan(eh.Snapshot.from_dict({"resources": {"cpu": {}}}), eh.policies.Slurm())
        >>> with tempfile.NamedTemporaryFile(suffix=".json.gz") as file:
        ...     plan.save(file.name)
        ...     eh.Plan.load(file.name) == plan
        True
        """
        from evenhand.plans.saved import load

        return load(path)
