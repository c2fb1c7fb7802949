"""Agreement of a judge with people, compared with agreement among the people and with trivial baselines."""
