"""Triage of a checkpoint file that a restore did not find: owner, referrers, when it was last seen,
likely causes.
"""
