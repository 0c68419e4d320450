"""source.lag_growing and source.idle: what a source has not read, and subtasks that read nothing."""

from dataclasses import replace

import pytest

from spark_jobs.diagnosis.samples import JobWindow, VertexGauges, VertexPast
from spark_jobs.diagnosis.source_lag import catch_up, lag_trend
from tests.diagnosis.graphs import AT_MS, found, job, unknown, vertex

GROWING, IDLE = "source.lag_growing", "source.idle"
MINUTE_MS = 60_000


def past(lags, name="src", **values) -> tuple[VertexPast, ...]:
    """Windows before the judged one, the newest last; each lag is of the end of its window."""
    values = {"pending_subtasks": 2} | values
    return tuple(
        VertexPast(name, AT_MS - MINUTE_MS * (len(lags) - place + 1), pending_records=lag, **values)
        for place, lag in enumerate(lags)
    )


def reading(lags, now, out=100.0, waits=0.1, **values) -> JobWindow:
    source = vertex(
        "src",
        waits=(waits, waits),
        pending_records=(now / 2, now / 2),
        records_out_per_s=(out / 2, out / 2),
        source_idle_ms=(0.0, 0.0),
    )
    values.setdefault("past", past(lags))
    return job(source, edges="src>sink", **values)


RISING = [1_000, 7_000, 13_000, 19_000, 25_000, 31_000]


def test_a_lag_that_grows_for_minutes_is_found_with_what_arrives_and_what_is_read():
    finding = found(reading(RISING, 37_000), GROWING)["src"]
    assert (finding.severity, finding.confidence) == ("warning", "high")
    assert "100.0 records a second and 200.0 arrive" in finding.cause
    assert (finding.data["lag"], finding.data["per_s"]) == (37_000, 100)


def test_a_source_that_is_held_back_points_after_it():
    assert "back-pressured 90 % of the time" in (
        found(reading(RISING, 37_000, waits=0.9), GROWING)["src"].cause
    )


def test_a_source_that_watermark_alignment_makes_wait_is_told_so():
    paused = (VertexGauges("src", AT_MS, split_paused_ms_per_s=900),)
    finding = found(reading(RISING, 37_000, gauges=paused), GROWING)["src"]
    assert "alignment makes splits of src wait" in finding.cause
    assert "event time is behind" in finding.next_step


@pytest.mark.parametrize(
    ("lags", "now"),
    [
        ([900_000 - 6_000 * minute for minute in range(6)], 800_000),
        ([900_000] * 6, 900_000),
        ([0] * 6, 0),
        ([0, 0, 0, 10_000, 20_000, 30_000], 40_000),
        ([1_000, 7_000, 13_000, 90_000, 80_000, 70_000], 60_000),
        ([100, 200, 300, 400, 500, 600], 700),
        ([900_000 + minute for minute in range(6)], 900_006),
    ],
    ids=["falls", "stays", "idle", "brief", "caught-up", "small", "by-chance"],
)
def test_a_lag_that_falls_stays_is_brief_or_small_is_not(lags, now):
    window = reading(lags, now)
    assert not found(window, GROWING)
    assert not unknown(window, GROWING)


def test_what_piled_up_before_the_last_restart_does_not_count():
    restarted = (AT_MS - 4 * MINUTE_MS,)
    assert not found(reading(RISING, 37_000, restarts=restarted), GROWING)
    assert found(reading(RISING, 37_000, restarts=(AT_MS - 20 * MINUTE_MS,)), GROWING)


def test_sums_over_fewer_subtasks_are_not_compared():
    window = reading(RISING, 37_000, past=past(RISING, pending_subtasks=1))
    assert not found(window, GROWING)


def test_event_time_is_judged_where_no_records_are_reported_but_not_of_a_source_that_waits():
    ages = [60_000 + 60_000 * minute for minute in range(6)]
    before = tuple(
        replace(one, pending_records=None, pending_subtasks=None, emit_lag_ms=one.pending_records)
        for one in past(ages)
    )

    def window(idle_ms):
        source = vertex("src", emit_lag_ms=(420_000.0, 100.0), source_idle_ms=(idle_ms, 0.0))
        return job(source, edges="src>sink", past=before)

    assert found(window(0.0), GROWING)["src"].confidence == "medium"
    assert not found(window(300_000.0), GROWING)


def test_a_job_whose_connectors_report_no_lag_is_unknown():
    assert "no connector" in unknown(job(vertex("src"), edges="src>sink"), GROWING)
    assert "from 1.14" in unknown(job(vertex("src"), edges="src>sink"), IDLE)


def idle(
    idle_ms=(0.0, 0.0, 400_000.0),
    pending=(0.0, 0.0, 9_000.0),
    lag=(5.0, 5.0, 5.0),
    out=(50.0, 50.0, 0.0),
    **values,
) -> JobWindow:
    source = vertex(
        "src",
        busy=(0.1, 0.1, 0.0),
        source_idle_ms=idle_ms,
        pending_records=pending,
        emit_lag_ms=lag,
        records_out_per_s=out,
    )
    return job(source, edges="src>sink", **values)


def test_a_subtask_that_does_not_read_what_it_has_is_found():
    finding = found(idle(), IDLE)["src"]
    assert (finding.severity, finding.confidence, finding.data["subtasks"]) == (
        "warning",
        "high",
        [2],
    )
    assert "9,000 records that it has not read" in finding.cause


def test_a_subtask_that_nobody_writes_to_is_for_information():
    assert found(idle(pending=(0.0, 0.0, 0.0)), IDLE)["src"].severity == "info"
    assert found(idle(pending=()), IDLE)["src"].confidence == "medium"


@pytest.mark.parametrize(
    "values",
    [
        {"idle_ms": (400_000.0,) * 3, "out": (0.0,) * 3},
        {"idle_ms": (0.0, 0.0, 200_000.0)},
        {"pending": (), "lag": (5.0, 5.0, None)},
        {"out": (0.1, 0.1, 0.0)},
        {"gauges": (VertexGauges("src", AT_MS, split_paused_ms_per_s=900),)},
        {"gauges": (VertexGauges("src", AT_MS, alignment_drift_ms=5_000),)},
    ],
    ids=["night", "briefly", "no-split", "few-records", "split-paused", "aligned"],
)
def test_subtasks_that_have_a_reason_to_wait_are_not(values):
    window = idle(**values)
    assert not found(window, IDLE)
    assert not unknown(window, IDLE)


def test_catching_up_takes_the_lag_by_what_it_falls_and_has_a_bound():
    points = [(minute * MINUTE_MS, 60_000.0 - 6_000 * minute) for minute in range(6)]
    caught = catch_up(30_000, lag_trend(points))
    assert caught
    assert (caught.s, caught.latest_s) == (300, 300)
    assert catch_up(30_000, lag_trend([(at, 5.0) for at, _ in points])) is None
    assert lag_trend(points[:2]) is None
    uneven = [*points[:-1], (300_000, 70_000.0)]
    unbounded = catch_up(70_000, lag_trend(uneven))
    assert unbounded
    assert unbounded.latest_s is None
