"""Slurm: policy, settings, columns, words, configuration text, live adapter."""
