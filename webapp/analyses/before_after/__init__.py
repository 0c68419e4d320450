"""A job before and after something that happened to it: what is different, and whether that is more
than its usual scatter.
"""
