"""The live adapter of Slurm: what its commands show as a snapshot, decisions as commands."""
