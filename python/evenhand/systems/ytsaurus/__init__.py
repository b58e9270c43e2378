"""YTsaurus: policy, settings, columns."""
