"""Backend.AI: policy, settings, columns, words."""
