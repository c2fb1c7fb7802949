"""Annotations: read and written as CSV and JSON lines, stored in a run's folder, and matched with its judgements."""
