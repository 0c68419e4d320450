"""Findings of one cause as one incident."""
