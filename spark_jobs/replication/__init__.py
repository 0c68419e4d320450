"""Copies of checkpoints at another place: verified, and with rewritten paths."""
