"""Slurm: settings, configuration texts, plans."""
