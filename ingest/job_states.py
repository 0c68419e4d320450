TERMINAL_STATES = ("FINISHED", "CANCELED", "FAILED")
"""Flink's final states of jobs and tasks."""

NOT_LISTED = "NOT_LISTED"
"""Weir's own: the JobManager answers but no longer lists the job. It was cancelled, failed, or lost
with the JobManager's memory.
"""
