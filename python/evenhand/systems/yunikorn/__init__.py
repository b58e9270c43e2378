"""YuniKorn: policy, settings, columns, words."""
