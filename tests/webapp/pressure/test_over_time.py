"""Rates of a job over time: by its windows, and by the hour where windows are gone."""

from datetime import timedelta

import pytest

from tests.webapp.builders import GRAPH, T0, cluster, job, window
from webapp.fleet.models import JobCurrent
from webapp.pressure.models import VertexHour
from webapp.pressure.over_time import OverTime, over_time

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)
LONG_AGO = T0.replace(minute=0) - timedelta(days=60)


def hour(of: JobCurrent, vertex: str, ago: int, **fields: float) -> None:
    VertexHour.objects.create(
        cluster=of.cluster,
        job_id=of.job_id,
        vertex_id=vertex,
        period_start=LONG_AGO - ago * HOUR,
        windows=60,
        as_of=LONG_AGO,
        **fields,
    )


def shown(of: JobCurrent, start, end) -> OverTime | None:
    return over_time(of, [of.job_id], start, end)


@pytest.fixture
def known():
    cluster(at=T0)
    of = job(at=T0, graph=GRAPH)
    for ago in range(3):
        hour(of, "v1", ago, records_out_per_s=100.0 + ago, pending_records_max=7.0)
        hour(of, "v4", ago, records_in_per_s=50.0)
    return of


def test_months_ago_rates_are_those_of_hours(known):
    found = shown(known, LONG_AGO - 3 * HOUR, LONG_AGO)

    assert found and found.width == HOUR
    assert list(found.from_sources) == [102.0, 101.0, 100.0]
    assert list(found.into_sinks) == [50.0] * 3
    assert list(found.pending_records) == [7.0] * 3
    assert not found.shares


def test_a_long_range_has_hours_where_it_has_no_windows(known):
    window(known, "v1", T0, records_out_per_s=900.0)
    window(known, "v4", T0, records_in_per_s=800.0)
    found = shown(known, LONG_AGO - 3 * HOUR, T0)
    assert found

    assert [value for value in found.from_sources if value is not None] == [101.0, 900.0]
    assert [value for value in found.into_sinks if value is not None] == [50.0, 800.0]


def test_a_short_range_with_windows_asks_for_no_hours(known, django_assert_num_queries):
    window(known, "v1", T0)
    with django_assert_num_queries(1):
        assert shown(known, T0 - HOUR, T0)
    assert shown(known, T0 - 9 * HOUR, T0 - 8 * HOUR) is None
