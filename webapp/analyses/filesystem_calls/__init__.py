"""What the checkpoints of jobs ask of the file system's name service: calls by kind, and what would
make them fewer.
"""
