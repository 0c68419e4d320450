"""Starts of jobs by their phases: what took long, where, and against earlier starts."""
