"""A job before and after an event: what changed, and whether that is more than its usual scatter."""
