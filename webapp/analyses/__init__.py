"""Analyses of jobs beyond checkpoints: each is one declaration for page, API, command and report."""
