"""States in which a job, or a task, is over."""

TERMINAL_STATES = ("FINISHED", "CANCELED", "FAILED")
"""Flink's own, of jobs and tasks alike: none is ever left."""

NOT_LISTED = "NOT_LISTED"
"""No state of Flink's: the JobManager of a job answers and lists it no more. Whether it was
cancelled, failed or lost with the memory of the JobManager is not known.
"""
