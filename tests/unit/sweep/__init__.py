"""Sweeps, their front, and tuning."""
