"""The YTsaurus policy, one rule a test, by the engine and by the readable reference."""
