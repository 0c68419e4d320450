"""Thresholds as people set them: the narrowest wins, here and in Spark, and nonsense is left out."""

import pytest

from spark_jobs.diagnosis import registry
from spark_jobs.fold.rule_evaluation import Settings
from webapp.findings import overrides
from webapp.findings.models import ThresholdOverride

pytestmark = pytest.mark.django_db

KEY = "collect.blind.cycles"
JOB = "a" * 32


@pytest.mark.parametrize(
    ("cluster", "job_id", "value"),
    [("other", JOB, 5), ("c", "b" * 32, 7), ("c", JOB, 9), ("other", "b" * 32, 5)],
)
def test_the_narrowest_override_wins_here_and_in_spark(
    cluster: str, job_id: str, value: float
) -> None:
    ThresholdOverride.objects.create(key=KEY, value=9, cluster="c", job_id=JOB)
    ThresholdOverride.objects.create(key=KEY, value=5)
    ThresholdOverride.objects.create(key=KEY, value=7, cluster="c")
    in_spark = Settings(overrides.as_plain()).limits(cluster, job_id)
    assert (overrides.limits_of(cluster, job_id)[KEY], in_spark[KEY]) == (value, value)


def test_an_override_that_is_not_allowed_is_as_if_it_were_not_there() -> None:
    ThresholdOverride.objects.create(key=KEY, value=-1)
    ThresholdOverride.objects.create(key="no.such.threshold", value=1)
    default = registry.limits()[KEY]
    in_spark = Settings(overrides.as_plain()).limits("c", JOB)
    assert (overrides.limits_of("c", JOB)[KEY], in_spark[KEY]) == (default, default)
