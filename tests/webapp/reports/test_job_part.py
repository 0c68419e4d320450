"""What Weir works out of one job beside its rows is in the appendix: analyses with trouble,
threads of the time, files that restores lacked.
"""

from datetime import timedelta

import pytest

from spark_jobs.serving import JOB_CURRENT
from tests.first_cycles import CLUSTER, served
from tests.played import FOLDER, of_rule
from tests.webapp.builders import T0, cluster, fact, finding, job
from tests.webapp.cleanup.missing_files.conftest import lost_file, played_audits  # noqa: F401
from tests.webapp.reports.stories import UID, gather, part, parts, rows, scope, told
from webapp.fleet.models import JobCurrent
from webapp.profiles.job_threads import job_threads
from webapp.profiles.models import ThreadDump
from webapp.reports.gathering import job_part

pytestmark = pytest.mark.django_db


def test_analyses_with_trouble_and_threads_are_reported(weir, home):
    """RocksDB that stalls, and threads that were dumped."""
    (row,) = served(FOLDER / "2.3.0/write-stall", home, JOB_CURRENT)
    of = JobCurrent.objects.create(**row)
    at = of.last_seen_at
    cluster(CLUSTER, at=of.as_of, url=f"/recordings/{CLUSTER}", kind="recording")
    fact(of, 1, at, unaligned=True, persisted_bytes=1000, checkpointed_bytes=2000)
    (manager, *_) = job_threads(of, at, at).taskmanagers
    thread = {
        "name": "enrich (1/2)#0",
        "number": 1,
        "state": "RUNNABLE",
        "frames": ["a.B.map:7"],
        "in_a_row": 3,
        "place": "x",
    }
    dump = {"cluster": CLUSTER, "taskmanager_id": manager.taskmanager_id, "state": "taken"}
    ThreadDump.objects.create(**dump, wanted_at=at, taken_at=at, threads=[thread])
    of_time = scope(of, start=of.start_time, end=at + timedelta(minutes=1))
    report = gather(of_time, uid=UID, made_at=at, made_by="olga")
    assert part(report, "backend-").verdict.tone == "warn"
    assert rows(part(report, "threads-"), "tasks")[0]["does"] == "runs in a.B.map"
    assert not parts(report, "exactly-once-")


def test_a_report_of_many_jobs_leaves_analyses_out_and_says_so(monkeypatch):
    monkeypatch.setattr(job_part, "MOST_ANALYSED", 0)
    of = job(at=T0)
    finding(of, at=T0)
    report = told(of)
    assert {one.key.split("-")[0] for one in report.appendix} == {
        "timeline",
        "finding",
        "job",
        "sources",
    }
    left_out = "Analyses of jobs are left out of reports of more than 0 jobs."
    assert any(getattr(one, "reason", "") == left_out for one in part(report, "sources").blocks)


def test_a_file_that_a_restore_lacked_is_reported_with_what_may_have_deleted_it(
    lost_file,  # noqa: F811
):
    lost_file("2.3.0")
    of = JobCurrent.objects.get(terminal=False)
    at = of.last_seen_at
    cluster("lab", at=at)
    *_, newest = of_rule("2.3.0/lost-file", "restore.missing_file")
    finding(of, "restore.missing_file", at, data=newest["data"], first_seen=at, last_seen=at)
    of_time = scope(of, start=at - timedelta(hours=1), end=at + timedelta(seconds=1))
    report = gather(of_time, uid=UID, made_at=at, made_by="olga")
    row, *_ = rows(part(report, "job-"), "missing-files")
    assert row["path"] == f"file:{newest['data']['files'][0]['path']}"
    assert (row["cause"], row["verdict"]) == ("A rule that deletes by age", "likely")
    assert row["snapshots"] == 2
