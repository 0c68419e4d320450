"""How long a restore of a job takes: from a checkpoint, a savepoint or local state, as observed and as it would be now."""
