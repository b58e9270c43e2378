"""Benchmarks of Grid Engine."""
