"""A cycle of few new rows in one process, without Spark, which would take seconds of CPU to plan
it.
"""
