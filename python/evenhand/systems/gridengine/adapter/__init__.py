"""A live Grid Engine: snapshots and actions by its commands."""
