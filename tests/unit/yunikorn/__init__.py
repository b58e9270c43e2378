"""Tests of the YuniKorn policy."""
