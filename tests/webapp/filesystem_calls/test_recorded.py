"""Calls of a recorded job: page, API and command against the calls that Flink made."""

import json
from datetime import timedelta
from io import StringIO
from itertools import pairwise
from statistics import median

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone

from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT
from tests.first_cycles import CLUSTER, served
from tests.played import FOLDER, answers
from tests.played_calls import calls_by_checkpoint, metadata_rows
from tests.played_trees import FINAL, audited, listed, newest, root_uri
from webapp.checkpoints.models import CheckpointFact
from webapp.filesystem_calls import lookup
from webapp.filesystem_calls.lookup import look_up_calls
from webapp.fleet.models import JobCurrent
from webapp.lib.quantities import bytes_text
from webapp.storage.models import StorageRoot

pytestmark = pytest.mark.django_db
PLAYED = "1.20.5/counted-small"


@pytest.fixture
def job(weir, tmp_path):
    """The played job as the web has it, its checkpoints audited into the lake that its cycle reads."""
    audited(PLAYED, tmp_path, [(FINAL, newest(PLAYED) + timedelta(minutes=5))], [])
    home = tmp_path / "audits"
    weir(home=home, lake_root=str(home / "lake"))
    (row,) = served(FOLDER / PLAYED, home, JOB_CURRENT)
    facts = served(FOLDER / PLAYED, tmp_path / "facts", CHECKPOINT_FACT)
    CheckpointFact.objects.bulk_create(CheckpointFact(**fact) for fact in facts)
    return JobCurrent.objects.create(**row)


def test_page_api_and_command_tell_the_calls_that_flink_made(viewer, job):
    last = max(int(path.split("/chk-")[1].split("/")[0]) for path, _size, _modified in listed(PLAYED) if path.endswith("_metadata"))
    made = calls_by_checkpoint(PLAYED)[last]
    at = (job.cluster, job.job_id)
    whole = viewer.get(reverse("api-job-calls", args=at)).json()
    document = whole["calls"]
    assert document["checkpoint_id"] == last
    assert document["least"] == document["most"]
    told = document["most"]
    assert {kind: told[kind] for kind in made} == dict(made)
    assert told["delete"] == made["create"] + 1
    assert document["total_most"] == sum(made.values()) + made["create"] + 1
    assert document["written_total"] == sum(made.values())
    assert document["files_most"] == made["create"] - 1 > 10
    every, lasted = pace()
    assert document["every_ms"] == pytest.approx(every, rel=0.01)
    assert document["duration_ms"] == lasted
    assert document["per_s"] == pytest.approx(document["total_most"] * 1000 / every, rel=0.01)
    out = StringIO()
    call_command("filesystem_calls", CLUSTER, job.name, "--json", stdout=out)
    assert json.loads(out.getvalue()) == whole
    out = StringIO()
    call_command("filesystem_calls", CLUSTER, job.job_id, stdout=out)
    assert document["sentence"] in out.getvalue()
    assert (
        f"One checkpoint costs {document['total_most']} calls for {made['create'] - 1} files beside its _metadata" in document["sentence"]
    )
    assert "File system calls" in viewer.get(reverse("filesystem-calls", args=at)).content.decode()
    assert document["sentence"] in viewer.get(reverse("filesystem-calls-tables", args=at)).content.decode()
    (bars,) = viewer.get(reverse("job-chart-calls", args=at)).json()["figure"]["data"]
    assert dict(zip(bars["y"], bars["x"], strict=True))["addBlock"] == made["addBlock"]


def test_bytes_of_a_checkpoint_have_their_raw_bytes_beside_them(viewer, job):
    StorageRoot.objects.create(uri=root_uri(PLAYED), replication=3)
    at = (job.cluster, job.job_id)
    document = viewer.get(reverse("api-job-calls", args=at)).json()
    newest_one = max((path for path, _size, _modified in listed(PLAYED) if path.endswith("_metadata")), key=checkpoint_of)
    (size,) = [size for path, size, _modified in listed(PLAYED) if path == newest_one]
    written = document["calls"]["file_bytes"]
    assert (document["replication_factor"], document["calls"]["metadata_bytes"]) == (3, size)
    out = StringIO()
    call_command("filesystem_calls", *at, stdout=out)
    for told in (viewer.get(reverse("filesystem-calls-tables", args=at)).content.decode(), out.getvalue()):
        assert f"{bytes_text(size)} in its _metadata, {bytes_text(3 * (written + size))} raw: stored 3 times" in told


def checkpoint_of(path):
    return int(path.split("/chk-")[1].split("/")[0])


def test_what_ifs_are_those_of_the_handles_and_say_the_same_behind_each_door(viewer, job, tmp_path):
    """A second look at the streams that its newest ``_metadata`` refers to."""
    _newest, (file, rows) = max(metadata_rows(PLAYED, tmp_path / "again").items())
    of_tasks = {row["path"]: row["size_bytes"] for row in rows if row["path"]}
    at = (job.cluster, job.job_id)
    found = viewer.get(reverse("api-job-calls", args=at)).json()
    others, told = found["what_ifs"], {row["key"]: row for row in found["what_ifs"]["rows"]}
    assert list(told) == ["now", "merged", "half", "knee", "largest", "twice", "pause"]
    assert (others["retained"], others["threshold_key"]) == (6, "execution.checkpointing.data-inline-threshold")
    assert (others["at_now"]["threshold_bytes"], told["now"]["files_most"]) == (0, found["calls"]["files_most"])
    for one in others["curve"]:
        inline = sum(size for size in of_tasks.values() if size <= one["threshold_bytes"])
        assert one["metadata_bytes"] == file.size + inline
    assert told["largest"]["files_most"] == 0
    assert told["knee"]["files_most"] == others["knee"]["files"] < told["now"]["files_most"]
    assert told["merged"]["files_least"] == 4
    assert told["merged"]["files_most"] < told["now"]["files_most"]
    assert told["twice"]["per_s"] == pytest.approx(told["now"]["per_s"] / 2)
    assert [one["interval_ms"] * one["per_s"] for one in others["floors"]] == [told["now"]["calls_most"] * 1000] * 3
    page = viewer.get(reverse("filesystem-calls-tables", args=at)).content.decode()
    note = viewer.get(reverse("job-chart-inline", args=at)).json()["note"]
    assert note in page
    assert f"{told['now']['files_most'] - others['knee']['files']} files less a checkpoint" in note
    assert "Checkpoint files merged" in page


def pace() -> tuple[float, float]:
    """Of the last 20 completed checkpoints, by Flink's own history."""
    history = {}
    for answer in answers(PLAYED, "/jobs/[0-9a-f]{32}/checkpoints"):
        history.update({one["id"]: one for one in answer.body["history"] if one["status"] == "COMPLETED"})
    latest = sorted(history.values(), key=lambda one: one["trigger_timestamp"])[-20:]
    triggered = [one["trigger_timestamp"] for one in latest]
    return median(b - a for a, b in pairwise(triggered)), median(one["end_to_end_duration"] for one in latest)


def test_a_job_of_which_nobody_read_a_checkpoint_says_so_behind_each_door(viewer, home):
    (row,) = served(FOLDER / PLAYED, home, JOB_CURRENT)
    job = JobCurrent.objects.create(**row)
    at = (job.cluster, job.job_id)
    assert "register the root of its checkpoints" in viewer.get(reverse("filesystem-calls-tables", args=at)).content.decode()
    assert viewer.get(reverse("api-job-calls", args=at)).status_code == 404
    assert viewer.get(reverse("job-chart-calls", args=at)).json()["empty"]["title"] == "Its files are not known"
    with pytest.raises(CommandError, match="No _metadata of this job was read"):
        call_command("filesystem_calls", CLUSTER, job.job_id)


def test_the_page_asks_the_database_a_constant_number_of_times(viewer, job, django_assert_max_num_queries):
    with django_assert_max_num_queries(12):
        viewer.get(reverse("filesystem-calls-tables", args=(job.cluster, job.job_id)))


def test_the_parts_of_a_page_have_its_metadata_read_once(job, monkeypatch):
    at = timezone.now()
    first = look_up_calls(job, at)
    assert first.calls
    monkeypatch.setattr(lookup, "newest_metadata", lambda *_: pytest.fail("read again"))
    assert look_up_calls(job, at) == first
