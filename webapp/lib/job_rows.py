from django.db import models


class JobRow(models.Model):
    """What serving tables of jobs have in common (:mod:`spark_jobs.serving`)."""

    cluster = models.CharField(max_length=100)
    job_id = models.CharField(max_length=64)
    as_of = models.DateTimeField()

    class Meta:
        abstract = True
