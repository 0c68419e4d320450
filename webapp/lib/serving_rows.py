from django.db import models

from spark_jobs.serving import SERVING_TABLES


def served_key(table: str) -> models.UniqueConstraint:
    """The key of a table of :mod:`spark_jobs.serving`."""
    return models.UniqueConstraint(fields=SERVING_TABLES[table].key, name=f"{table}_key")
