"""Writing of metric definitions by a model: what is asked for, remarks on drafts, and two ways to write one."""
