"""Two-phase-commit sinks of jobs: how long their transactions are open, against the time-out after which they are lost."""
