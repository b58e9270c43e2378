"""Grid Engine's cases."""
