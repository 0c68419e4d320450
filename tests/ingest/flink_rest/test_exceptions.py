"""Exceptions: the legacy list, the history since 1.13, and both at once."""

from ingest.flink_rest.payloads import exceptions
from tests.ingest.recorded import body

JOB = "a" * 32


def parsed(payload):
    return [
        found
        for place, entry in exceptions.entries(payload)
        for found in exceptions.exceptions(entry, JOB, place)
    ]


def test_the_history_tells_task_place_and_time_of_each_failure():
    payload = body("1.20.5/J", "/exceptions", lambda found: found["exceptionHistory"]["entries"])
    newest = payload["exceptionHistory"]["entries"][0]
    record = parsed(payload)[0]
    assert record.task == newest["taskName"]
    assert record.exception_name == newest["exceptionName"]
    assert record.taskmanager_id == newest["taskManagerId"]
    assert int(record.ts.timestamp() * 1000) == newest["timestamp"]
    assert len(parsed(payload)) == len(payload["exceptionHistory"]["entries"]) + sum(
        len(entry["concurrentExceptions"]) for entry in payload["exceptionHistory"]["entries"]
    )


def test_the_legacy_part_beside_a_history_is_not_told_twice():
    payload = body("1.20.5/J", "/exceptions", lambda found: found["exceptionHistory"]["entries"])
    assert payload["all-exceptions"] or payload["root-exception"]
    without = {"exceptionHistory": payload["exceptionHistory"]}
    assert parsed(payload) == parsed(without)


def test_old_versions_tell_tasks_and_the_root_once():
    task = {
        "exception": "java.io.IOException: disk",
        "task": "map (1/2)",
        "location": "tm:1",
        "timestamp": 5,
    }
    found = parsed(
        {
            "root-exception": "java.io.IOException: disk",
            "timestamp": 5,
            "all-exceptions": [task],
            "truncated": False,
        }
    )
    assert [(record.task, record.exception_name, record.endpoint) for record in found] == [
        ("map (1/2)", "java.io.IOException", "tm:1")
    ]


def test_a_root_that_no_task_tells_of_stands_alone():
    found = parsed(
        {"root-exception": "java.lang.Error: gone", "timestamp": 5, "all-exceptions": []}
    )
    assert [(record.task, record.exception_name) for record in found] == [(None, "java.lang.Error")]


def test_a_job_without_failures_has_none():
    assert (
        parsed(
            {"root-exception": None, "timestamp": None, "all-exceptions": [], "truncated": False}
        )
        == []
    )


def test_concurrent_exceptions_name_their_root():
    concurrent = {
        "exceptionName": "B",
        "stacktrace": "B: b",
        "timestamp": 8,
        "taskName": "t (1/1) - execution #0",
    }
    root = {
        "exceptionName": "A",
        "stacktrace": "A: a",
        "timestamp": 7,
        "taskName": "(global failure)",
        "location": "(unassigned)",
    }
    first, second = parsed(
        {
            "exceptionHistory": {
                "entries": [{**root, "concurrentExceptions": [concurrent]}],
                "truncated": False,
            }
        }
    )
    assert (first.is_root, first.task, first.endpoint) == (True, None, None)
    assert not second.is_root


def test_text_that_no_store_can_hold_is_made_harmless():
    found = parsed(
        {
            "exceptionHistory": {
                "entries": [
                    {"exceptionName": "A\x00\ud800", "stacktrace": "x" * 200_000, "timestamp": 7}
                ]
            }
        }
    )
    assert found[0].exception_name.encode()
    assert "\x00" not in found[0].exception_name
    assert len(found[0].stacktrace) == 64 * 1024
