"""Checks of what the policy of Backend.AI says."""
