"""What a run found: comparison, diagnosis, checks of gold, and a summary."""
