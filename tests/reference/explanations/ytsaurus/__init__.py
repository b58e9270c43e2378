"""Checks of what the policy of YTsaurus says."""
