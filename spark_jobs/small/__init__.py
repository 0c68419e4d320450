"""A cycle of few new rows in one process: Spark's planning would take seconds."""
