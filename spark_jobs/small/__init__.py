"""A cycle of few new rows in one process, without Spark, whose planning would take seconds of CPU."""
