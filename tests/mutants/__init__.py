"""Defects planted on purpose: whether the tests of a room catch what could go wrong in it."""
