"""Evaluations described by a config file, which names the dataset, the indexes, the methods and the judge."""
