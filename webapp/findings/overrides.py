from typing import Any

from spark_jobs.diagnosis.findings import Limits
from spark_jobs.fold.rule_evaluation import Settings
from webapp.findings.models import ThresholdOverride


def as_plain() -> list[dict[str, Any]]:
    """Overrides for the rules in Spark."""
    return [
        dict(row)
        for row in ThresholdOverride.objects.order_by("id").values(
            "key", "value", "cluster", "job_id", "job_name"
        )
    ]


def limits_of(cluster: str = "", job_id: str = "", name: str | None = None) -> Limits:
    return Settings(as_plain()).limits(cluster, job_id, name)
