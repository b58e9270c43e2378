"""Checks of what the policy of Slurm says."""
