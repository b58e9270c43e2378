"""Configuration and state of Grid Engine, from the texts of its commands."""
