"""Checks of what the policy of YuniKorn says."""
