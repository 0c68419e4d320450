"""Calls of all jobs by second: of a recorded job against the calls that Flink made, and of several
that meet.
"""

from datetime import datetime, timedelta

import pytest
from django.urls import reverse

from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT
from tests.first_cycles import served
from tests.played import FOLDER
from tests.played_calls import calls, calls_by_checkpoint
from tests.played_trees import FINAL, audited, newest, root_uri
from tests.webapp.analyses.answers import tables_of
from tests.webapp.builders import T0, fact, job
from tests.webapp.storage.builders import audit, root_figures, take_up
from webapp.analyses.filesystem_calls import fleet_calls as fleet_calls_module
from webapp.analyses.filesystem_calls import fleet_jobs as fleet_jobs_module
from webapp.analyses.filesystem_calls.fleet_calls import fleet_calls
from webapp.analyses.filesystem_calls.fleet_jobs import fleet_jobs
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.storage.models import CheckpointStorage

pytestmark = pytest.mark.django_db
PLAYED = "1.20.5/counted-small"


def test_a_recorded_job_has_the_calls_and_the_pace_of_what_flink_did(home, tmp_path):
    as_of = newest(PLAYED) + timedelta(minutes=5)
    (found,) = audited(PLAYED, tmp_path, [(FINAL, as_of)], [])
    audit("run-1", as_of=as_of, roots=[root_uri(PLAYED)])
    take_up(lambda table: found.rows(table, "run-1"))
    JobCurrent.objects.bulk_create(
        JobCurrent(**row) for row in served(FOLDER / PLAYED, home, JOB_CURRENT)
    )
    CheckpointFact.objects.bulk_create(
        CheckpointFact(**row)
        for row in served(FOLDER / PLAYED, tmp_path / "facts", CHECKPOINT_FACT)
    )
    end, (one,), left_out = fleet_jobs(as_of)
    assert left_out == 0
    counted = calls_by_checkpoint(PLAYED)
    last = max(checkpoint for checkpoint, of in counted.items() if of["rename"])
    assert one.files == counted[last]["create"] - 1
    assert one.calls == sum(counted[last].values()) + counted[last]["create"] + 1
    assert one.file_system == "hdfs://lab"
    triggered = [
        call.at_ms for call in calls(PLAYED) if call.kind == "mkdirs" and "/chk-" in call.path
    ]
    (system,) = fleet_calls(as_of).file_systems
    assert sum(system.seconds) == pytest.approx(one.calls * len(one.checkpoints))
    assert (system.peak, system.jobs, system.uncounted) == (max(system.seconds), 1, 0)
    assert abs((end - datetime.fromtimestamp(triggered[-1] / 1000, end.tzinfo)).total_seconds()) < 5


@pytest.fixture
def fleet():
    """Four jobs of nn1 that checkpoint each half minute, three of them together, one of nn2, and
    one whose files nobody counted.
    """
    of = audit("run-1", as_of=T0)
    for number, (authority, files, second) in enumerate(
        (
            ("nn1", 100, 0),
            ("nn1", 60, 0),
            ("nn1", 40, 0),
            ("nn1", 10, 15),
            ("nn2", 10, 0),
            ("nn2", None, 0),
        )
    ):
        name = f"job-{number}"
        one = job(at=T0, job_id=f"{number:032x}", name=name, flink_version="1.20.5")
        directory = f"hdfs://{authority}/flink/{one.job_id}"
        for checkpoint in range(1, 11):
            trigger = T0 - timedelta(seconds=30 * (11 - checkpoint) - second)
            fact(
                one,
                checkpoint,
                trigger,
                end_to_end_ms=2_000,
                external_path=f"{directory}/chk-{checkpoint}",
            )
        if files is not None:
            stored(of, one.job_id, directory, files)
    root_figures(of)


def stored(of, job_id, directory, files):
    counts = dict.fromkeys(
        (
            "files",
            "bytes",
            "foreign_files",
            "foreign_bytes",
            "missing_files",
            "missing_bytes",
        ),
        0,
    )
    flags = {"is_savepoint": False, "self_contained": True, "relocatable": False, "verdict": "live"}
    CheckpointStorage.objects.create(
        audit=of,
        metadata_path=f"{directory}/chk-10/_metadata",
        root="s3://bucket/checkpoints",
        job_id=job_id,
        checkpoint_id=10,
        **counts
        | flags
        | {
            "files": files + 5,
            "new_files": 2 * files,
            "previous_path": f"{directory}/chk-8/_metadata",
        },
    )


def cost(files):
    """create, addBlock, fsync, complete and delete of each file and of the ``_metadata``; rename,
    three looks, mkdirs, the directory.
    """
    return 5 * (files + 1) + 6


def test_jobs_that_meet_make_the_worst_second(fleet):
    found = {one.file_system: one for one in fleet_calls(T0).file_systems}
    nn1 = found["hdfs://nn1"]
    assert nn1.peak == pytest.approx((cost(100) + cost(60) + cost(40)) / 2)
    assert [(one.name, one.calls) for one in nn1.busy_jobs] == [
        (f"job-{at}", cost(files) / 2) for at, files in enumerate((100, 60, 40))
    ]
    costs = cost(100) + cost(60) + cost(40) + cost(10)
    assert nn1.per_s == pytest.approx(10 * costs / 600, rel=0.01)  # the last burst is cut
    assert (found["hdfs://nn2"].jobs, found["hdfs://nn2"].uncounted) == (2, 1)


def test_the_document_has_bursts_and_their_chart(viewer, fleet, monkeypatch):
    monkeypatch.setattr("django.utils.timezone.now", lambda: T0)
    found = fleet_calls(T0)
    document = viewer.get(reverse("api-analysis-filesystem-calls")).json()
    tables = tables_of(document)
    nn1, nn2 = tables["file-systems"]["rows"]
    peak = found.file_systems[0].peak
    assert (nn1["file_system"], nn1["jobs"], nn1["peak"], nn1["together"]) == (
        "hdfs://nn1",
        4,
        round(peak),
        3,
    )
    assert (nn2["jobs"], nn2["uncounted"]) == (2, 1)
    assert [row["job"] for row in tables["together"]["rows"]][:3] == ["job-0", "job-1", "job-2"]
    assert (
        f"hdfs://nn1 had {peak:,.0f} calls in its worst second, of 3 jobs together"
        in document["verdict"]["sentence"]
    )
    assert any(
        block.get("reason") == "1 job is left out: no audit counted its files."
        for block in document["blocks"]
    )
    figure = viewer.get(reverse("fleet-filesystem-calls-chart-seconds")).json()["figure"]
    assert [max(line["y"]) for line in figure["data"]] == [one.peak for one in found.file_systems]
    assert "second by second" in viewer.get(reverse("fleet-filesystem-calls")).content.decode()


def test_a_fleet_without_checkpoints_has_none(viewer):
    assert tables_of(viewer.get(reverse("api-analysis-filesystem-calls")).json()) == {}
    assert (
        viewer.get(reverse("fleet-filesystem-calls-chart-seconds")).json()["empty"]["title"]
        == "No calls are known"
    )


def test_the_page_asks_the_database_a_constant_number_of_times(
    viewer, fleet, django_assert_max_num_queries
):
    with django_assert_max_num_queries(14):
        viewer.get(reverse("fleet-filesystem-calls"), headers={"HX-Request": "true"})


def test_tables_chart_and_api_work_it_out_once(viewer, fleet, monkeypatch):
    monkeypatch.setattr("django.utils.timezone.now", lambda: T0)
    worked_out = []
    monkeypatch.setattr(
        fleet_calls_module,
        "fleet_calls",
        lambda *asked: worked_out.append(asked) or fleet_calls(*asked),
    )
    for name in (
        "fleet-filesystem-calls",
        "fleet-filesystem-calls-chart-seconds",
        "api-analysis-filesystem-calls",
    ):
        assert (
            viewer.get(reverse(name), {"more": 1}, headers={"HX-Request": "true"}).status_code
            == 200
        )
    assert len(worked_out) == 1


def test_jobs_that_are_too_many_are_left_out_and_counted(fleet, monkeypatch, viewer):
    monkeypatch.setattr(fleet_jobs_module, "MOST_FACTS", 45)
    found = fleet_jobs(T0)
    assert [one.name for one in found.jobs] == [f"job-{number}" for number in range(4)]
    assert [len(one.checkpoints) for one in found.jobs] == [10] * 4
    assert found.left_out == 2
    reasons = [
        block.get("reason", "")
        for block in viewer.get(reverse("api-analysis-filesystem-calls")).json()["blocks"]
    ]
    assert any(one.startswith("2 more jobs took fewer checkpoints") for one in reasons)
