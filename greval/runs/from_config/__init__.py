"""The evaluation framework: a config file names dataset, indexes, methods and judge; one command does the rest."""

from __future__ import annotations

__all__ = ["CONFIG", "PUBLISHED"]

CONFIG = "eval_config.yaml"
"""The name of the config file."""
PUBLISHED = "imdb_key"
"""What the dataset of the published design is grouped by."""
