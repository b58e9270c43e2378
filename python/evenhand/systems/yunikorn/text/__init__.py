"""YuniKorn's own texts: the configuration of its queues, and what its REST interface answers."""
