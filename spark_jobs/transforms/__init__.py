"""Transforms of large data: samples, files, log text; without path, environment or clock. Rows may
come several times, so they are first reduced to one for each identity. Only ``folding``,
``log_records`` and ``time_spans`` import PySpark: executors import the other modules.
"""
