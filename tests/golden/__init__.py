"""Recorded answers: a change of them is a change of behaviour, to be looked at and explained."""
