"""Failure diagnosis: the step between the index and the answer at which the evidence of a question was lost."""
