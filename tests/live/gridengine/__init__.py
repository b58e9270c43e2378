"""Drivers and readers on a real Grid Engine."""
