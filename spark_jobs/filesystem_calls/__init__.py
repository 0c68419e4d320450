"""Calls of a job's checkpoints to a file system with a name service, such as HDFS, as counted below
Flink's own writers (``tests/fixtures/incidents/*/counted-*``).
"""
