"""Certificates of the fewest or cheapest victims of a plan, checked without the engine.

`check_certificate` derives what the search of a step was asked from the snapshot, the settings, the state
before and the decisions of the steps before, by readable rules in Python; compares it with the certificate
that `evenhand.Plan.certificate` gives; and adds up what proves that no set costs less, in exact fractions.
"""

from __future__ import annotations

from evenhand.testing.certificates.checker import check_certificate
from evenhand.testing.certificates.questions import NotDerived
from evenhand.testing.fewest import Verdict

__all__ = ["NotDerived", "Verdict", "check_certificate"]
