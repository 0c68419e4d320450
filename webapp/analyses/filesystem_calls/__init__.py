"""Calls of jobs' checkpoints to the file system's name service, by kind, and how to reduce them."""
