"""Thresholds as people set them: handed to Spark with a run, and used here."""

import logging
from typing import Any

from spark_jobs.diagnosis import registry
from spark_jobs.diagnosis.thresholds import Limits
from webapp.findings.models import ThresholdOverride

logger = logging.getLogger(__name__)


def as_plain() -> list[dict[str, Any]]:
    """All overrides as the Spark job takes them: {key, value, cluster, job_id}."""
    return [dict(row) for row in ThresholdOverride.objects.order_by("id").values("key", "value", "cluster", "job_id")]


def limits_of(cluster: str = "", job_id: str = "") -> Limits:
    """The thresholds of a job or cluster; the narrowest override wins. One that is not allowed (any more) is left out."""
    values: dict[str, float] = {}
    known = {threshold.key: threshold for threshold in registry.all_thresholds()}
    scopes = [("", ""), (cluster, ""), (cluster, job_id)]
    rows = sorted(ThresholdOverride.objects.filter(cluster__in=["", cluster]), key=lambda one: (bool(one.cluster), bool(one.job_id)))
    for row in rows:
        threshold = known.get(row.key)
        if (row.cluster, row.job_id) in scopes and threshold and threshold.minimum <= row.value <= threshold.maximum:
            values[row.key] = row.value
    return registry.limits(values)
