"""Settings and plans of the BackendAI policy."""
