"""Configuration text of Slurm: what its files and commands write, as settings."""
