"""Triage of a checkpoint file that a restore missed: owner, referrers, last sighting, likely
causes.
"""
