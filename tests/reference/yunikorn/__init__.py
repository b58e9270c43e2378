"""YuniKorn's published rules, written down slowly and readably."""
