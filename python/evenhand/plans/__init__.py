"""Plans: decisions with their reasons, refusals, statuses, groups, and what is done with them."""

from __future__ import annotations

from evenhand.plans.answers import Starvation
from evenhand.plans.certificates import Certificate, CertificateSite
from evenhand.plans.check import Check, Finding
from evenhand.plans.comparison import SideBySide, side_by_side
from evenhand.plans.decisions import Beneficiary, Decision, Decisions
from evenhand.plans.diff import PlanDiff
from evenhand.plans.plan import Plan
from evenhand.plans.refusals import Refusal, Refusals
from evenhand.plans.statuses import Groups, Status, Statuses
from evenhand.plans.steps import Step
from evenhand.plans.victims import Victims

__all__ = [
    "Beneficiary",
    "Certificate",
    "CertificateSite",
    "Check",
    "Decision",
    "Decisions",
    "Finding",
    "Groups",
    "Plan",
    "PlanDiff",
    "Refusal",
    "Refusals",
    "SideBySide",
    "Starvation",
    "Status",
    "Statuses",
    "Step",
    "Victims",
    "side_by_side",
]
