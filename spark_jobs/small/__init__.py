"""A cycle of few new rows in one process, without Spark.

To plan a cycle takes Spark seconds of CPU, however few rows there are. What folds jobs, windows and
log lines are plain functions that Spark's workers call; here they are called at once. What Spark
does in columns of its own (joins of executions, uploads) is written down a second time over plain
rows. The rows that come out are the same, which tests hold both to.
"""
