"""Copies of checkpoints at another place, kept up to date: planned by set difference, verified,
with paths of their own.
"""
