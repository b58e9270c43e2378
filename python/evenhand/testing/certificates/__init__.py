"""Certificates of the fewest or cheapest victims of a plan, checked without the engine.

`check_certificate` holds what `evenhand.Plan.certificate` gives against the plan, and adds up in exact
fractions what proves that no set of its candidates costs less.
"""

from __future__ import annotations

from evenhand.testing.certificates.checker import check_certificate
from evenhand.testing.fewest import Verdict

__all__ = ["Verdict", "check_certificate"]
