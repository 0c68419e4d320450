"""Where the tasks of a job run, how evenly, and what other rules of placement would do to it."""
