TERMINAL_STATES = ("FINISHED", "CANCELED", "FAILED")

NOT_LISTED = "NOT_LISTED"
"""A state that Weir adds: the JobManager no longer lists the job, which was cancelled, failed, or
was lost with the JobManager's memory.
"""
