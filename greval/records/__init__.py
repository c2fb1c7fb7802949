"""The nouns: cases, scales, metrics, judgements. Frozen values; no files and no model."""
