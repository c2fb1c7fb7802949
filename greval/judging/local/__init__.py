"""The embedded judge: a small model, downloaded once, that answers on this machine."""
