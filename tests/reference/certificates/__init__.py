"""What a search for the fewest victims was asked, derived by the readable rules of each system.

`check_by_rules` derives the question of a step from the snapshot, the settings, the state before and the
decisions of the steps before; compares it with the certificate; and has the certificate checked.
"""

from __future__ import annotations

from tests.reference.certificates.questions import NotDerived
from tests.reference.certificates.rules import check_by_rules

__all__ = ["NotDerived", "check_by_rules"]
