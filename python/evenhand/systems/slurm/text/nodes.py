"""Node sets of slurm.conf: one name for several nodes, listed or with a feature."""

from __future__ import annotations

from evenhand.building.problems import shorten
from evenhand.systems.slurm.text.hostlist import expand_hostlist
from evenhand.systems.slurm.text.values import Found

__all__ = ["NodeSets"]


class NodeSets:
    """What lines of nodes and of node sets say.

    Notes
    -----
    Nodes that only register with a feature later are in no line, and so in no set. Source: slurm.conf, manual
    page, ``NodeSet``.
    """

    def __init__(self) -> None:
        self._features: dict[str, set[str]] = {}
        self._sets: dict[str, tuple[str, str]] = {}
        self._usual = ""  # features of nodes that name none

    def read(self, kind: str, pairs: list[tuple[str, str]], line: int, found: Found) -> None:
        """Take one line in; lines of other kinds say nothing here.

        Parameters
        ----------
        kind : str
            Its first word, ``NodeName`` or ``NodeSet``.
        pairs : list of (str, str)
            All of it.
        line : int
            Its number.
        found : Found
            Problems are added to it.
        """
        said = {name.lower(): value for name, value in pairs}
        if kind == "NodeSet":
            unknown = set(said) - {"nodeset", "nodes", "feature"}
            for name in sorted(unknown):
                found.add(
                    line, name, "unknown_field", None, f"{name} is unknown; there are Nodes and Feature"
                )
            if said["nodeset"] in self._sets:
                found.add(
                    line, "NodeSet", "unique", None, f"NodeSet {shorten(said['nodeset'])} is there twice"
                )
            self._sets[said["nodeset"]] = (said.get("nodes", ""), said.get("feature", ""))
        elif kind == "NodeName":
            features = said.get("feature", said.get("features", self._usual))
            if said["nodename"].upper() == "DEFAULT":
                self._usual = features
                return
            if not features:
                return
            try:
                names = expand_hostlist(said["nodename"])
            except ValueError as error:
                found.add(line, "NodeName", "host_list", shorten(said["nodename"]), f"NodeName: {error}")
                return
            for feature in features.split(","):
                self._features.setdefault(feature, set()).update(names)

    def expanded(self, nodes: str) -> str:
        """Return a host list in which names of sets are replaced by their nodes.

        Parameters
        ----------
        nodes : str

        Returns
        -------
        str
            As it was where it names no set, or cannot be read.
        """
        try:
            names = expand_hostlist(nodes)
            if not set(names) & set(self._sets):
                return nodes
            return ",".join(dict.fromkeys(node for name in names for node in self._of(name)))
        except ValueError:
            return nodes

    def _of(self, name: str) -> tuple[str, ...]:
        if name not in self._sets:
            return (name,)
        listed, feature = self._sets[name]
        return (*expand_hostlist(listed), *sorted(self._features.get(feature, ())))
