"""Events of an operator, as records of a log that its pattern reads."""

from dataclasses import replace
from datetime import UTC, datetime

from ingest import operator_log
from ingest.discovery.operator_report import OperatorEvent, events_of
from ingest.lake.store import Lake
from ingest.shard_collector import collect_shard
from ingest.sources import ClusterSource
from spark_jobs.serving import JOB_ANNOTATION
from tests.first_cycles import cycled
from tests.ingest.flink_logs.row_events import event_of

AT = datetime(2025, 6, 15, 16, tzinfo=UTC)
JOB = "a" * 32
UPGRADE = OperatorEvent(
    1_750_000_000_000, "SpecChanged", JOB, "UPGRADE change(s) detected,\n starting reconciliation."
)
SAVEPOINT = OperatorEvent(
    1_750_000_060_000, "SavepointCompleted", JOB, "upgrade", "s3://sp/savepoint-a-1"
)


def test_events_are_read_as_typed_events_of_their_job():
    records, _cursor = operator_log.new_records([UPGRADE, SAVEPOINT], {}, AT)
    found = [event_of(record) for record in records]
    assert [(one.kind, one.job_id, one.to_state, one.path, one.reason_text) for one in found] == [
        (
            "operator_event",
            JOB,
            "SpecChanged",
            None,
            "UPGRADE change(s) detected, starting reconciliation.",
        ),
        ("operator_event", JOB, "SavepointCompleted", "s3://sp/savepoint-a-1", "upgrade"),
    ]
    assert found[0].ts == datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)


def test_an_event_is_taken_once_and_again_for_the_job_that_follows():
    records, cursor = operator_log.new_records([UPGRADE], {}, AT)
    again, cursor = operator_log.new_records(
        [UPGRADE, replace(UPGRADE, job_id="b" * 32)], cursor, AT
    )
    assert (len(records), [event_of(one).job_id for one in again]) == (1, ["b" * 32])


def test_an_event_of_no_job_or_of_the_future_and_a_damaged_cursor_stop_nothing():
    odd = [
        replace(UPGRADE, job_id=""),
        replace(UPGRADE, job_id="../x"),
        replace(UPGRADE, at_ms=4_000_000_000_000),
    ]
    assert operator_log.new_records(odd, {"taken": 7}, AT) == ((), {"taken": []})
    assert len(operator_log.new_records([UPGRADE], {"taken": [None]}, AT)[0]) == 1


def test_a_line_of_many_words_in_a_path_or_reason_makes_no_other_event():
    hostile = replace(UPGRADE, message="of job " + "c" * 32, path="a b: c", reason="Spec")
    (record,), _cursor = operator_log.new_records([hostile], {}, AT)
    assert (event_of(record).job_id, event_of(record).path) == (JOB, None)


def test_what_a_database_held_is_read_again_and_what_is_none_is_left_out():
    plain = {
        "events": [
            {"at_ms": 1, "reason": "R", "job_id": JOB, "message": "m", "path": "", "new": 1},
            {"at_ms": "x"},
            7,
        ]
    }
    assert events_of(plain) == (OperatorEvent(1, "R", JOB, "m"),)
    assert events_of([]) == events_of(None) == events_of({"events": 7}) == ()


def test_a_cycle_takes_them_though_no_jobmanager_answers_and_they_become_annotations(tmp_path):
    source = ClusterSource("shop.orders", url="http://127.0.0.1:1", operator_events=(UPGRADE,))
    lake = Lake(str(tmp_path / "lake"))
    (outcome,) = collect_shard([source], {}, lake, at=lambda: AT)
    assert not outcome.reachable and outcome.cursor["operator"]["taken"]
    (again,) = collect_shard([source], {"shop.orders": outcome.cursor}, lake, at=lambda: AT)
    assert again.cursor["operator"] == outcome.cursor["operator"]
    ((mark,),) = cycled(lake, tmp_path, JOB_ANNOTATION)
    assert (mark["job_id"], mark["kind"], mark["label"]) == (
        JOB,
        "operator",
        "operator began an upgrade",
    )
    assert mark["at"] == datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC)
