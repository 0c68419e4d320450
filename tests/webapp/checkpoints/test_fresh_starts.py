"""A job that comes back under another id without state, though its attempt before had completed
checkpoints.
"""

from datetime import timedelta

import pytest

from ingest.replay.shipped import PREFIX
from spark_jobs.serving import CHECKPOINT_FACT, JOB_CURRENT
from tests.first_cycles import served_tables
from tests.played import FOLDER, answers
from tests.webapp.builders import T0, annotation, cluster, fact, job
from webapp.checkpoints.fresh_starts import take_up
from webapp.checkpoints.models import CheckpointFact
from webapp.findings import marks
from webapp.findings.models import Finding
from webapp.fleet import demo
from webapp.fleet.attempts import link
from webapp.fleet.models import JobCurrent

pytestmark = pytest.mark.django_db
PATH = "s3://lake/ck/a/chk-9"
RETAINED = {"externalized": True, "retained_on_cancellation": True}
DELETED = {"externalized": True, "retained_on_cancellation": False}
ENDED = T0 - timedelta(minutes=20)


def earlier(state="FAILED", ended=ENDED, config=RETAINED, checkpoint=None, **fields):
    of = job(
        at=ended,
        **{
            "name": "orders",
            "state": state,
            "terminal": state != "NOT_LISTED",
            "start_time": ended - timedelta(hours=5),
            "first_seen_at": ended - timedelta(hours=5),
            "end_time": ended if state != "NOT_LISTED" else None,
            "checkpoint_config": config,
            **fields,
        },
    )
    if checkpoint is not False:
        at = ended - timedelta(minutes=2)
        fact(of, 9, at, **{"external_path": PATH, "discarded": False, **(checkpoint or {})})
    return of


def comes_back(after=timedelta(minutes=5), number=1, **fields):
    """Under another id; its first checkpoint is loaded."""
    started = ENDED + after
    of = job(
        at=started + timedelta(minutes=3),
        **{"name": "orders", "start_time": started, "first_seen_at": started, **fields},
    )
    first = fact(of, number, started + timedelta(minutes=1))
    take_up([{"cluster": of.cluster, "job_id": of.job_id, "checkpoint_id": first.checkpoint_id,
              "is_savepoint": first.is_savepoint}])  # fmt: skip
    return of


def found():
    return [(one.severity, one.data["checkpoint_id"]) for one in Finding.objects.all()]


@pytest.mark.parametrize("state", ["FAILED", "NOT_LISTED", "SUSPENDED", "CANCELED"])
def test_a_job_that_counts_its_checkpoints_from_1_again_has_lost_its_state(state):
    before = earlier(state)
    of = comes_back()
    row = Finding.objects.get()
    assert (row.rule, row.severity, row.job_id) == ("restore.without_state", "critical", of.job_id)
    assert row.first_attempt_id == before.job_id
    assert PATH in row.next_step
    assert row.first_seen == of.start_time


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"restored_at": ENDED, "restored_checkpoint_id": 9}, id="restored"),
        pytest.param({"name": "orders-v2"}, id="another name"),
        pytest.param({"number": 10}, id="first seen later"),
        pytest.param({"after": timedelta(minutes=-60)}, id="side by side"),
    ],
)
def test_a_start_that_restored_or_that_is_of_another_job_has_lost_nothing(fields):
    earlier()
    comes_back(**fields)
    assert not found()


def test_a_restore_that_the_log_alone_tells_of_counts():
    earlier()
    of = comes_back(number=2)
    annotation(of, "restore", of.start_time, "restored from savepoint 0")
    fact(of, 1, of.start_time)
    take_up([{"cluster": of.cluster, "job_id": of.job_id, "checkpoint_id": 1,
              "is_savepoint": False}])  # fmt: skip
    assert not found()


def test_an_earlier_attempt_without_checkpoints_had_nothing_to_lose():
    earlier(checkpoint=False)
    comes_back()
    assert not found()


def test_a_recording_that_the_demo_plays_again_has_lost_nothing():
    cluster(f"{PREFIX}1.20", at=T0, labels={demo.LABEL: demo.LABEL_VALUE})
    earlier(cluster=f"{PREFIX}1.20")
    comes_back(cluster=f"{PREFIX}1.20")
    assert not found()


def test_a_job_that_finished_is_done_unless_a_savepoint_stopped_it():
    earlier("FINISHED")
    comes_back()
    assert not found()
    Finding.objects.all().delete()
    earlier("FINISHED", name="stopped", checkpoint={"is_savepoint": True})
    comes_back(name="stopped")
    assert found() == [("critical", 9)]


@pytest.mark.parametrize(("config", "checkpoint"), [(DELETED, {}), (RETAINED, {"discarded": True})])
def test_whoever_cancelled_it_with_its_checkpoints_meant_it(config, checkpoint):
    earlier("CANCELED", config=config, checkpoint=checkpoint)
    comes_back()
    assert found() == [("info", 9)]


def test_checkpoints_that_went_with_a_failure_are_no_way_back():
    earlier("FAILED", config={"externalized": False})
    comes_back()
    assert found() == [("critical", 9)]
    assert PATH not in Finding.objects.get().next_step


def test_an_attempt_that_was_over_for_days_is_no_alarm():
    earlier()
    comes_back(timedelta(days=3))
    assert found() == [("info", 9)]


def test_an_import_that_loads_the_earlier_attempt_last_finds_it_too():
    of = comes_back()
    before = earlier()
    fact(before, 1, before.start_time)
    take_up([{"cluster": of.cluster, "job_id": before.job_id, "checkpoint_id": 1,
              "is_savepoint": False}])  # fmt: skip
    assert found() == [("critical", 9)]


def test_one_start_is_found_once_and_not_again_when_that_is_closed():
    earlier()
    of = comes_back()
    row = {"cluster": of.cluster, "job_id": of.job_id, "checkpoint_id": 1, "is_savepoint": False}
    take_up([row])
    marks.close([Finding.objects.get().pk], T0)
    take_up([row])
    assert found() == [("critical", 9)] and Finding.objects.get().state == "closed"


def test_a_job_of_a_real_flink_that_was_submitted_again_without_its_checkpoints(tmp_path):
    """It was cancelled, which keeps them."""
    played = "2.1.1/begun-afresh"
    jobs, facts = served_tables(FOLDER / played, tmp_path, JOB_CURRENT, CHECKPOINT_FACT)
    JobCurrent.objects.bulk_create(JobCurrent(**row) for row in jobs)
    CheckpointFact.objects.bulk_create(CheckpointFact(**row) for row in facts)
    link({(row["cluster"], row["name"]) for row in jobs})
    take_up(facts)
    first = next(answers(played, "/jobs/([0-9a-f]{32})/checkpoints")).found[0]
    newest = [
        one.body["latest"]["completed"] for one in answers(played, f"/jobs/{first}/checkpoints")
    ][-1]
    (finding,) = Finding.objects.all()
    assert (finding.rule, finding.severity) == ("restore.without_state", "critical")
    assert finding.data["checkpoint_id"] == newest["id"]
    assert newest["external_path"] in finding.next_step
