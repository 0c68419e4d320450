"""What the checkpoints of a job ask of a file system with a name service, as the NameNode of HDFS:
calls by kind, from files.

Counted from what Flink's own writers do, through Flink's HDFS file system:
``tests/fixtures/incidents/*/counted-*`` are its calls.
"""
