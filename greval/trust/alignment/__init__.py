"""Improve a metric from its disagreements with people, and measure the gain on questions held out from learning."""
