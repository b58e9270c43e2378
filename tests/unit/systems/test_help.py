"""What `help` and a signature say of the settings."""

from __future__ import annotations

import inspect

import pytest

import evenhand as eh
from evenhand.systems import SYSTEMS

POLICIES = [system.policy for system in SYSTEMS.values()]


@pytest.mark.parametrize("policy", POLICIES)
def test_signature_has_a_keyword_a_setting_with_its_type(policy: type[eh.Policy]) -> None:
    """No setting without, none beside, and nothing of how values are validated."""
    given = inspect.signature(policy).parameters
    assert [*given] == ["preset", *policy.model.model_fields]
    shown = str(inspect.signature(policy))
    assert "Annotated" not in shown
    assert "<function" not in shown
    assert given["preset"].default == "documented"
    for name, parameter in list(given.items())[1:]:
        assert parameter.default == getattr(policy().settings, name)
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.annotation is not inspect.Parameter.empty


@pytest.mark.parametrize("policy", POLICIES)
def test_help_has_type_default_and_a_line_for_each_setting(policy: type[eh.Policy]) -> None:
    """In the section of the other parameters."""
    lines = (inspect.getdoc(policy) or "").partition("Other Parameters")[2].splitlines()[2:]
    heads, texts = lines[::2], lines[1::2]
    assert [head.partition(" : ")[0] for head in heads] == [*policy.model.model_fields]
    assert all(", default " in head for head in heads)
    assert all(text.startswith("    ") and text.strip() for text in texts)
    assert "See the system." not in texts


def test_help_names_seconds_where_durations_are_read() -> None:
    """Also where none may be given, and in no other setting."""
    text = inspect.getdoc(eh.policies.GridEngine) or ""
    assert "preemption_distance : float, seconds, default 900.0" in text
    assert "default_duration : Optional[float], seconds, default None" in text
    assert "max_preemptees : int, default 0" in text
