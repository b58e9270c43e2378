"""What hypothesis calls when it is imported: `from_type(Snapshot)` and the like work without further ado."""

from __future__ import annotations


def register() -> None:
    """Register the strategies of the library's types; they are built when first asked for."""
    # Not above: hypothesis calls this while it is imported, so a program that imported this module first
    # would have it called before it exists.
    from hypothesis import strategies as st

    from evenhand.config.fair_share import FairShareSettings
    from evenhand.model import Snapshot

    def snapshots(_: type) -> st.SearchStrategy[Snapshot]:
        from evenhand.testing import strategies

        return strategies.snapshots()

    def settings(_: type) -> st.SearchStrategy[FairShareSettings]:
        from evenhand.testing import strategies

        return strategies.fair_share_settings()

    st.register_type_strategy(Snapshot, snapshots)
    st.register_type_strategy(FairShareSettings, settings)
