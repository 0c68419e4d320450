"""Copies of checkpoints at another place: planned by set difference, verified, with rewritten
paths.
"""
