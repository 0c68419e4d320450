"""What models of serving tables (:mod:`spark_jobs.serving`) have in common."""

from django.db import models

from spark_jobs.serving import SERVING_TABLES


class JobRow(models.Model):
    cluster = models.CharField(max_length=100)
    job_id = models.CharField(max_length=64)
    as_of = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} of {self.job_id} on {self.cluster}"


def served_key(table: str) -> models.UniqueConstraint:
    return models.UniqueConstraint(fields=SERVING_TABLES[table].key, name=f"{table}_key")
