"""Calls of a recorded job against the calls that Flink made."""

from datetime import timedelta
from itertools import pairwise
from statistics import median

import pytest
from django.urls import reverse
from django.utils import timezone

from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT
from tests.first_cycles import served
from tests.played import FOLDER, answers
from tests.played_calls import calls_by_checkpoint, metadata_rows
from tests.played_trees import FINAL, audited, listed, newest, root_uri
from tests.webapp.analyses.answers import advice_of, facts_of, tables_of
from webapp.analyses.filesystem_calls import lookup
from webapp.analyses.filesystem_calls.lookup import look_up_calls
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.models import ThresholdOverride
from webapp.fleet.models import JobCurrent
from webapp.storage.models import StorageRoot

pytestmark = pytest.mark.django_db
PLAYED = "1.20.5/counted-small"


@pytest.fixture
def job(weir, tmp_path):
    """The played job as the web has it, its checkpoints audited into the lake that its cycle
    reads.
    """
    audited(PLAYED, tmp_path, [(FINAL, newest(PLAYED) + timedelta(minutes=5))], [])
    home = tmp_path / "audits"
    weir(home=home, lake_root=str(home / "lake"))
    (row,) = served(FOLDER / PLAYED, home, JOB_CURRENT)
    facts = served(FOLDER / PLAYED, tmp_path / "facts", CHECKPOINT_FACT)
    CheckpointFact.objects.bulk_create(CheckpointFact(**fact) for fact in facts)
    return JobCurrent.objects.create(**row)


def answered(viewer, job):
    return viewer.get(
        reverse("api-job-analysis-filesystem-calls", args=(job.cluster, job.job_id))
    ).json()


def newest_made():
    """Calls of the newest checkpoint by kind, without what deletes it later."""
    last = max(
        checkpoint_of(path)
        for path, _size, _modified in listed(PLAYED)
        if path.endswith("_metadata")
    )
    return last, calls_by_checkpoint(PLAYED)[last]


def test_calls_are_those_that_flink_made(viewer, job):
    last, made = newest_made()
    document = answered(viewer, job)
    facts = facts_of(document)
    assert facts["checkpoint"] == str(last)
    expected = {row["kind"]: row["expected"] for row in tables_of(document)["kinds"]["rows"]}
    assert {kind: expected[kind] for kind in made} == dict(made)
    assert expected["delete"] == made["create"] + 1
    assert facts["calls"] == sum(made.values()) + made["create"] + 1
    assert facts["files"] == made["create"] - 1 > 10
    every, lasted = pace()
    assert facts["every_ms"] == pytest.approx(every, rel=0.01)
    assert facts["duration_ms"] == lasted
    assert facts["per_s"] == pytest.approx(facts["calls"] * 1000 / every, rel=0.01)
    assert facts["burst_per_s"] == pytest.approx(sum(made.values()) * 1000 / lasted)
    sentence = document["verdict"]["sentence"]
    assert sentence.startswith(
        f"One checkpoint costs {facts['calls']} calls for {facts['files']} files beside its "
        "_metadata; at one every"
    )


def test_a_rate_above_the_limit_of_the_rule_on_small_files_is_a_warning(viewer, job):
    per_s = facts_of(answered(viewer, job))["per_s"]
    for limit, tone in ((per_s * 2, "ok"), (per_s / 2, "warn")):
        ThresholdOverride.objects.all().delete()
        ThresholdOverride.objects.create(key="storage.small_files.calls_per_s", value=limit)
        assert answered(viewer, job)["verdict"]["tone"] == tone


def test_bytes_of_a_checkpoint_have_their_raw_bytes_beside_them(viewer, job):
    StorageRoot.objects.create(uri=root_uri(PLAYED), replication=3)
    facts = facts_of(answered(viewer, job))
    newest_one = max(
        (path for path, _size, _modified in listed(PLAYED) if path.endswith("_metadata")),
        key=checkpoint_of,
    )
    (size,) = [size for path, size, _modified in listed(PLAYED) if path == newest_one]
    assert facts["metadata_bytes"] == size
    assert facts["raw_bytes"] == 3 * (facts["file_bytes"] + size)


def checkpoint_of(path):
    return int(path.split("/chk-")[1].split("/")[0])


def test_what_makes_files_fewer_is_that_of_the_handles(viewer, job, tmp_path):
    """A second look at the streams that its newest ``_metadata`` refers to."""
    _newest, (file, rows) = max(metadata_rows(PLAYED, tmp_path / "again").items())
    of_tasks = {row["path"]: row["size_bytes"] for row in rows if row["path"]}
    calls = look_up_calls(job, timezone.now()).calls
    assert (calls.retained, calls.threshold_key) == (
        6,
        "execution.checkpointing.data-inline-threshold",
    )
    assert calls.at_now.threshold_bytes == 0
    for one in calls.curve:
        inline = sum(size for size in of_tasks.values() if size <= one.threshold_bytes)
        assert one.metadata_bytes == file.size + inline
    document = answered(viewer, job)
    merged, inline = advice_of(document)
    assert f"at most {calls.merged_to} files instead of {calls.files_most}." in merged
    assert f"{calls.files_most - calls.knee.files} files less a checkpoint" in inline
    page = viewer.get(
        reverse("filesystem-calls", args=(job.cluster, job.job_id)), headers={"HX-Request": "true"}
    ).content.decode()
    assert "Set execution.checkpointing.file-merging.enabled: true." in page
    drawn = viewer.get(
        reverse("filesystem-calls-chart-threshold", args=(job.cluster, job.job_id))
    ).json()["figure"]
    assert list(drawn["data"][0]["y"]) == [one.files for one in calls.curve]


def pace() -> tuple[float, float]:
    """Of the last 20 completed checkpoints, by Flink's own history."""
    history = {}
    for answer in answers(PLAYED, "/jobs/[0-9a-f]{32}/checkpoints"):
        history.update(
            {one["id"]: one for one in answer.body["history"] if one["status"] == "COMPLETED"}
        )
    latest = sorted(history.values(), key=lambda one: one["trigger_timestamp"])[-20:]
    triggered = [one["trigger_timestamp"] for one in latest]
    return median(b - a for a, b in pairwise(triggered)), median(
        one["end_to_end_duration"] for one in latest
    )


def test_a_job_of_which_nobody_read_a_checkpoint_says_so(viewer, home):
    (row,) = served(FOLDER / PLAYED, home, JOB_CURRENT)
    job = JobCurrent.objects.create(**row)
    document = answered(viewer, job)
    assert document["verdict"]["tone"] == "unknown"
    assert "register the root of its checkpoints" in document["blocks"][0]["reason"]
    chart = viewer.get(
        reverse("filesystem-calls-chart-threshold", args=(job.cluster, job.job_id))
    ).json()
    assert "register the root of its checkpoints" in chart["empty"]["text"]


def test_the_page_asks_the_database_a_constant_number_of_times(
    viewer, job, django_assert_max_num_queries
):
    with django_assert_max_num_queries(14):
        viewer.get(
            reverse("filesystem-calls", args=(job.cluster, job.job_id)),
            headers={"HX-Request": "true"},
        )


def test_the_parts_of_a_page_have_its_metadata_read_once(job, monkeypatch):
    at = timezone.now()
    first = look_up_calls(job, at)
    assert first.calls
    monkeypatch.setattr(lookup, "newest_metadata", lambda *_: pytest.fail("read again"))
    assert look_up_calls(job, at) == first
