"""Benchmarks: each module is a program that measures and prints, with the goal beside the measurement."""
