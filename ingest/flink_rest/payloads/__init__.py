"""Answers of Flink's REST API → records: a file for each endpoint.

These modules convert units and turn Flink's -1 and NaN into ``None``. A bad shape raises
``Skipped`` with the path of the field.
"""
