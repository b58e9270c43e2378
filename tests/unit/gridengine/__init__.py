"""Tests of Grid Engine's policy."""
