"""Starts of jobs by phase: what took long, where, compared with earlier starts."""
