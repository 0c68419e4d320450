"""States in which a job, or a task, is over."""

TERMINAL_STATES = ("FINISHED", "CANCELED", "FAILED")
"""Flink's final states of jobs and tasks."""

NOT_LISTED = "NOT_LISTED"
"""Weir's own state: the JobManager answers but no longer lists the job. It may have been cancelled,
failed, or lost with the JobManager's memory.
"""
