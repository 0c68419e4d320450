"""Analyses of all jobs, a module each."""
