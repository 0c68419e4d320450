"""Calls of a job's checkpoints to a file system with a name service, such as HDFS: by kind, from
the files. Derived from the calls of Flink's own writers through Flink's HDFS file system
(``tests/fixtures/incidents/*/counted-*``).
"""
