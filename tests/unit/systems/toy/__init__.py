"""A system of few rules, in Python alone: who waits may take the room of one newer and less urgent."""
