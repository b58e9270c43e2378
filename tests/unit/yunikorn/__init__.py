"""Tests of what is YuniKorn's own."""
