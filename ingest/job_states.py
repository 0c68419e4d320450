TERMINAL_STATES = ("FINISHED", "CANCELED", "FAILED")

NOT_LISTED = "NOT_LISTED"
"""A state that Weir adds: the JobManager answers but no longer lists the job. The job was
cancelled, failed, or was lost with the JobManager's memory.
"""
