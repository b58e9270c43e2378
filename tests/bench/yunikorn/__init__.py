"""Speed of YuniKorn's policy."""
