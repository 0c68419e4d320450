"""Copies of the checkpoints of jobs at other places: kept up to date on schedule, and how far
behind they are.
"""
