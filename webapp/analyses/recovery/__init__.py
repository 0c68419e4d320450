"""What a failure of a job restarts, how long a restore takes, and what would shorten it: observed
and estimated.
"""
