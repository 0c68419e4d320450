"""Answers of Flink's REST API → records: a file for each endpoint.

Units and what is unknown (Flink's -1 and NaN) are settled here. A bad shape raises ``Skipped`` with
the path of the field.
"""
