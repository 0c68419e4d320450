"""Keeps copies of checkpoints at another place up to date: planned by set difference, verified,
with rewritten paths.
"""
