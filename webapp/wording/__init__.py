"""Sentences of code that knows no Django (``ingest``, ``spark_jobs``): stored in English, translated when they are shown."""
