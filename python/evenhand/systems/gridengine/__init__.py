"""Grid Engine: policy, settings, columns, commands."""
