"""Runs described by a config file, which names the dataset, the indexes, the methods and the judge."""

from __future__ import annotations

__all__ = ["CONFIG_FILE", "DEFAULT_GROUP_BY"]

CONFIG_FILE = "eval_config.yaml"
"""The default name of the config file."""
DEFAULT_GROUP_BY = "imdb_key"
"""The default column that groups the dataset: the one of the published evaluation design."""
