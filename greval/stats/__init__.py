"""Statistics: pure functions of sequences, each with its source and with what makes it undefined."""
