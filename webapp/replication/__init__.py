"""Keeps copies of jobs' checkpoints at other places up to date, and shows how far behind they are."""
