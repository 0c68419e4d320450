"""The state of a job that Flink itself has no word for."""

NOT_LISTED = "NOT_LISTED"
"""Its JobManager answers and lists it no more: whether it was cancelled, failed or lost with the
memory of the JobManager is not known.
"""
