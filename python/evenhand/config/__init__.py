"""Settings: frozen models that name their fields as the systems do."""
