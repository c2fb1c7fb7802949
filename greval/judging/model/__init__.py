"""The judging model: its settings, client, rate limit, retries, budget, prices and reply cache."""
