"""Mutation testing of a judge without labels: plant faults whose right verdict is known, and count those caught."""
