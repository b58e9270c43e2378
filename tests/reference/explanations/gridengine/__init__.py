"""Checks of what the policy of Grid Engine says."""
