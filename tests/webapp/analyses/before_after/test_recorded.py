"""Recorded savepoints, restores and a rescale, recounted from Flink's raw answers."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from statistics import median

import pytest
from django.utils import timezone

from spark_jobs.serving import CHECKPOINT_FACT, JOB_ANNOTATION, JOB_CURRENT, PRESSURE_WINDOW
from tests.first_cycles import CLUSTER, served_tables
from tests.webapp.analyses.answers import tables_of
from tests.webapp.builders import annotation, cluster, fact, job
from tests.webapp.placement.recorded import FIXTURES, answers
from webapp.analyses.before_after.job_change import changes, job_change
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.attempts import link
from webapp.fleet.models import Cluster, JobAnnotation, JobCurrent
from webapp.pressure.models import PressureWindow

pytestmark = pytest.mark.django_db
MODELS = {
    JOB_CURRENT: JobCurrent,
    CHECKPOINT_FACT: CheckpointFact,
    JOB_ANNOTATION: JobAnnotation,
    PRESSURE_WINDOW: PressureWindow,
}


@pytest.fixture
def taken_up(home):
    def take_up(recording):
        for model, rows in zip(
            MODELS.values(), served_tables(FIXTURES / recording, home, *MODELS), strict=True
        ):
            model.objects.bulk_create(model(**row) for row in rows)
        Cluster.objects.create(name=CLUSTER, kind="recording", enabled=False)
        return list(JobCurrent.objects.order_by("start_time"))

    return take_up


def raw_checkpoints(recording, job_ids):
    """By job and id, as the newest answer had each."""
    found = {}
    for told in answers(recording):
        parts = told["path"].split("?")[0].strip("/").split("/")
        if parts[0] == "jobs" and parts[2:] == ["checkpoints"] and parts[1] in job_ids:
            found |= {(parts[1], one["id"]): one for one in told["body"]["history"]}
    return found


def changed(of, at, hours=24):
    return job_change(of, at, timedelta(hours=hours), datetime.now(UTC))


def measured(found, name):
    return next(one.comparison for one in found.measures if one.name == name)


def test_a_savepoint_between_incremental_checkpoints(taken_up):
    (of,) = taken_up("recordings/1.20.5/G")
    mark = JobAnnotation.objects.filter(kind="savepoint").order_by("at")[1]
    found = changed(of, mark.at)
    start, end = found.windows.start, found.windows.end
    assert end - mark.at == mark.at - start
    assert [one.kind for one in found.marks] == ["savepoint"]
    raw = [
        one
        for one in raw_checkpoints("recordings/1.20.5/G", {of.job_id}).values()
        if one["status"] == "COMPLETED"
    ]
    for before, side in ((True, "before"), (False, "after")):
        own = [
            one
            for one in raw
            if not one["is_savepoint"]
            and start <= (at := datetime.fromtimestamp(one["trigger_timestamp"] / 1000, UTC)) <= end
            and (at < mark.at) is before
        ]
        uploaded = getattr(measured(found, "uploaded"), side)
        duration = getattr(measured(found, "end to end"), side)
        assert (uploaded.count, uploaded.median) == (
            len(own),
            median(one["checkpointed_size"] for one in own),
        )
        assert duration.median == median(one["end_to_end_duration"] for one in own)
    assert found.changes is None
    assert found.first.checkpoint_id == 12


def test_a_savepoint_of_1_12_after_which_everything_is_uploaded_is_seen_in_the_first_checkpoint(
    taken_up,
):
    (of,) = taken_up("recordings/1.12.5/G")
    mark = JobAnnotation.objects.filter(kind="savepoint").order_by("at")[1]
    found = changed(of, mark.at)
    assert found.first.checkpoint_id == 12
    assert found.first.checkpointed_bytes > 80_000_000
    assert measured(found, "uploaded").after.median < 1_000_000


def test_attempts_that_restore_one_another_are_compared_with_what_is_configured_otherwise(taken_up):
    taken_up("recordings/1.20.5/H")
    JobCurrent.objects.update(name="restored")
    link(set(JobCurrent.objects.values_list("cluster", "name")))
    first, second = JobCurrent.objects.order_by("start_time")[:2]
    found = changed(second, second.start_time)
    assert (found.before.job_id, found.after.job_id) == (first.job_id, second.job_id)
    expected = {
        name
        for name in {*first.configuration, *second.configuration}
        if first.configuration.get(name) != second.configuration.get(name)
    }
    assert {one.name for one in found.changes if one.section == "configuration"} == expected
    raw = raw_checkpoints(
        "recordings/1.20.5/H", set(JobCurrent.objects.values_list("job_id", flat=True))
    )
    start, end = found.windows.start, found.windows.end
    own = [
        one
        for one in raw.values()
        if one["status"] == "COMPLETED"
        and not one["is_savepoint"]
        and second.start_time <= datetime.fromtimestamp(one["trigger_timestamp"] / 1000, UTC) <= end
    ]
    assert start < second.start_time
    assert measured(found, "full state").after.count == len(own)


def rescaled(version, taken_up):
    (of,) = taken_up(f"incidents/{version}/rescaled")
    return of, changed(of, JobAnnotation.objects.filter(kind="rescale").order_by("at").first().at)


@pytest.mark.parametrize("version", ["1.20.5", "2.3.0"])
def test_a_job_that_is_rescaled_keeps_its_id_and_nothing_of_it_is_configured_otherwise(
    version, taken_up
):
    _of, found = rescaled(version, taken_up)
    assert "rescale" in {one.kind for one in found.marks}
    assert found.changes is None


def test_pressure_around_a_rescale_is_compared_by_vertex(taken_up):
    of, found = rescaled("1.20.5", taken_up)
    assert {one.vertex for one in found.pressure} == {
        vertex["name"] for vertex in of.graph["vertices"]
    }
    for one in found.pressure:
        assert one.comparison.before.count + one.comparison.after.count > 0


def test_a_rescale_in_the_second_of_two_minutes_that_are_known_has_no_pressure_to_compare(taken_up):
    """The first minute begins before the window of half a minute, the second one is that in which
    it happened.
    """
    _of, found = rescaled("2.3.0", taken_up)
    minutes = set(PressureWindow.objects.values_list("window_start", flat=True))
    assert len(minutes) == 2
    assert (
        min(minutes)
        < found.windows.start
        < max(minutes)
        < found.windows.at
        < max(minutes) + timedelta(minutes=1)
    )
    assert found.pressure == []
    assert "No minute of buffer pressure is known in both windows." in found.unknown


@pytest.fixture
def now():
    return timezone.now()


@pytest.fixture
def slower(now):
    """Twenty checkpoints of four seconds, then twenty of nine, of two attempts that are configured
    otherwise.
    """
    cluster(at=now)
    at = now - timedelta(minutes=20)
    settings = {
        "execution.checkpointing.interval": "60 s",
        "taskmanager.memory.managed.fraction": "0.4",
    }
    first = job(
        at=at,
        name="billing",
        start_time=now - timedelta(hours=2),
        end_time=at,
        state="CANCELED",
        terminal=True,
        configuration=settings,
        parallelism=4,
    )
    second = job(
        at=now,
        name="billing",
        start_time=at,
        configuration=settings | {"execution.checkpointing.unaligned": "true"},
        parallelism=8,
    )
    for number in range(20):
        fact(
            first, number, at - timedelta(minutes=19.5 - number), end_to_end_ms=4_000 + 10 * number
        )
        fact(
            second,
            number,
            at + timedelta(seconds=30 + 55 * number),
            end_to_end_ms=9_000 + 10 * number,
        )
    annotation(second, "deploy", at, "deployed")
    return first, second, at


def answered(viewer, of, **parameters):
    return viewer.get(
        f"/api/v1/jobs/{of.cluster}/{of.job_id}/analyses/before-after/", parameters
    ).json()


def test_the_document_has_what_differs_and_what_is_configured_otherwise(slower, viewer):
    _first, second, at = slower
    document = answered(viewer, second, at=f"{at:%Y-%m-%dT%H:%M:%SZ}")
    tables = tables_of(document)
    duration = tables["durations"]["rows"][0]
    assert (duration["measure"], duration["state"], duration["before_count"]) == (
        "end to end",
        "higher",
        20,
    )
    assert duration["change"] == pytest.approx(1.23, abs=0.01)
    assert {
        (one["name"], one["before"], one["after"]) for one in tables["configuration"]["rows"]
    } == {
        ("execution.checkpointing.unaligned", None, "true"),
        ("parallelism", "4", "8"),
    }
    assert document["verdict"]["tone"] == "warn"
    assert "end to end higher +12" in document["verdict"]["sentence"]
    facts = {
        fact["key"]: fact
        for block in document["blocks"]
        if block["kind"] == "facts"
        for fact in block["facts"]
    }
    assert facts["window_ms"]["note"] == "what is known ends there"
    assert [row["what"] for row in tables["events"]["rows"]] == ["deployed"]


def test_an_instant_within_one_attempt_is_not_of_one_attempt_if_the_windows_have_others(
    slower, viewer
):
    _first, second, at = slower
    within, alone = (
        [
            block["kind"]
            for block in answered(
                viewer, second, at=f"{at + after:%Y-%m-%dT%H:%M:%SZ}", window=window
            )["blocks"]
        ]
        for after, window in ((timedelta(minutes=5), "1h"), (timedelta(minutes=15), "15m"))
    )
    assert within[1] == "not_known" and alone[1] == "note"


def test_an_attempt_of_which_no_figure_is_known_is_not_configured_otherwise(now):
    unknown = job(at=now, flink_version=None, parallelism=None, vertex_count=None)
    known = job(at=now, flink_version="1.20", parallelism=4, vertex_count=3)
    assert [one.name for one in changes(unknown, known) if one.section == "job"] == []


def test_every_annotation_of_a_chart_leads_there(slower, viewer):
    _first, second, _at = slower
    drawn = viewer.get(
        f"/jobs/{second.cluster}/{second.job_id}/charts/strip?from=now-2h&to=now"
    ).json()["figure"]["layout"]["annotations"]
    (address,) = {one["name"] for one in drawn if "name" in one}
    assert "end to end higher" in viewer.get(address).content.decode()


def test_without_an_instant_there_is_what_happened_to_choose_from(slower, viewer):
    _first, second, at = slower
    page = viewer.get(
        f"/jobs/{second.cluster}/{second.job_id}/before-after/?from=now-2h&to=now"
    ).content.decode()
    assert f"{at:%Y-%m-%d %H:%M}" in page
    (address,) = set(re.findall(r'href="([^"]*\?at=[^"]*)"', page))
    assert viewer.get(unescape(address)).status_code == 200
    assert [row["what"] for row in tables_of(answered(viewer, second))["events"]["rows"]] == [
        "deployed"
    ]


def test_before_a_job_began_and_after_rows_are_deleted_nothing_is_compared(slower, viewer):
    first, *_ = slower
    for at, reason in (
        ("now-3h", "There is no data for one of the sides"),
        ("now-9d", "there is no data left to compare"),
    ):
        document = answered(viewer, first, at=at)
        assert document["verdict"] == {"tone": "unknown", "sentence": "Nothing can be compared."}
        assert reason in document["blocks"][0]["reason"]


def test_a_wrong_instant_is_refused(slower, viewer):
    first, *_ = slower
    assert (
        viewer.get(
            f"/api/v1/jobs/{first.cluster}/{first.job_id}/analyses/before-after/?at=soon"
        ).status_code
        == 400
    )


def test_a_checkpoint_is_found_by_its_id_also_of_another_attempt(slower, viewer, now):
    first, second, _at = slower
    fact(first, 777, now - timedelta(minutes=50))
    went = viewer.get(f"/jobs/{second.cluster}/{second.job_id}/checkpoints/go?id=chk-777")
    assert f"/jobs/{first.cluster}/{first.job_id}/checkpoints/777/" in went.url
    assert (
        viewer.get(f"/jobs/{second.cluster}/{second.job_id}/checkpoints/go?id=778").status_code
        == 404
    )
    assert (
        viewer.get(f"/jobs/{second.cluster}/{second.job_id}/checkpoints/go?id=x").status_code == 404
    )
