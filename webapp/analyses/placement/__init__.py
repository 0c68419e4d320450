"""Where the tasks of a job run, how evenly, and what balancing them would change."""
