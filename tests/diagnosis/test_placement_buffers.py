"""placement.network_buffers: a real Flink whose TaskManagers had 32 buffers, against its raw
answers and logs.
"""

import gzip
import re
from dataclasses import replace

import pytest

from spark_jobs.diagnosis.registry import diagnose, limits
from spark_jobs.diagnosis.samples import JobFailure, JobWindow, LogEvent
from tests.played import FOLDER, answers, evidence, occurrences, of_rule

RULE = "placement.network_buffers"
VERSIONS = ("1.20.5", "2.3.0")
TOLD = re.compile(
    r"required (\d+), but only (\d+) available. The total number of network buffers is currently "
    r"set to (\d+) of (\d+) bytes each"
)
TRACE = (
    "java.io.IOException: Insufficient number of network buffers: required 65, but only 6 "
    "available. The total number of network buffers is currently set to 2048 of 32768 bytes each. "
    "You can increase this number by …"
)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_figures_are_those_of_flinks_exception(version):
    *_, newest = of_rule(f"{version}/few-buffers", RULE)
    told = [
        (entry["timestamp"], tuple(map(int, TOLD.search(entry["stacktrace"]).groups())))
        for answer in answers(f"{version}/few-buffers", "/jobs/[0-9a-f]{32}/exceptions(?:[?].*)?")
        for entry in answer.body["exceptionHistory"]["entries"]
    ]
    last_at = max(at for at, _figures in told)
    required, available, total, segment_bytes = dict(told)[last_at]
    assert evidence(newest, "buffers that the task required") == required
    assert evidence(newest, "buffers that were available") == available
    assert evidence(newest, "buffers of the TaskManager") == total == 32
    assert evidence(newest, "its network memory") == total * segment_bytes
    assert evidence(newest, "failures because buffers were missing") == len(
        {at for at, _figures in told}
    )
    assert newest["severity"] == "critical"


@pytest.mark.parametrize("version", VERSIONS)
def test_hosts_are_those_whose_log_has_the_exception(version):
    *_, newest = of_rule(f"{version}/few-buffers", RULE)
    logs = {
        path: gzip.decompress(path.read_bytes()).decode()
        for path in (FOLDER / version / "few-buffers" / "logs").iterdir()
    }
    hosts = {
        host
        for host in ("flink-tm-1", "flink-tm-2")
        for path, text in logs.items()
        if host in path.name and TOLD.search(text)
    }
    assert newest["data"]["hosts"]
    assert set(newest["data"]["hosts"]) <= hosts


def window(**fields):
    return JobWindow("c", "j", 1_000_000, 960_000, **fields)


def judged(one):
    return diagnose(one, limits(), only=[RULE]).findings


def test_a_log_alone_tells_it_too():
    event = LogEvent(
        990_000, "task_state", host="tm-3", detail=TRACE, fields={"to_state": "FAILED"}
    )
    (found,) = judged(window(events=(event,)))
    assert found.title == "1 task found too few network buffers on tm-3"
    assert dict(found.data) == {"hosts": ["tm-3"], "required": 65, "available": 6, "total": 2048}


def test_one_failure_that_both_sources_tell_counts_once():
    event = LogEvent(
        990_000, "task_state", host="tm-3", detail=TRACE, fields={"to_state": "FAILED"}
    )
    (found,) = judged(
        window(
            events=(event,),
            failures=(JobFailure(990_001, "java.io.IOException", host="tm-3", stacktrace=TRACE),),
        )
    )
    assert found.evidence[0].value == 1


def test_one_failure_is_a_warning_and_forgotten_after_ten_minutes():
    failed = window(failures=(JobFailure(990_000, "java.io.IOException", stacktrace=TRACE),))
    assert judged(failed)[0].severity == "warning"
    assert judged(replace(failed, at_ms=990_000 + 600_001)) == ()


def test_other_failures_are_none_of_it():
    assert (
        judged(
            window(
                failures=(
                    JobFailure(
                        990_000, "java.io.IOException", stacktrace="java.io.IOException: disk full"
                    ),
                )
            )
        )
        == ()
    )
    assert not [one for one in occurrences("2.3.0/balanced") if one["rule"] == RULE]


def test_a_text_without_the_size_of_the_pool_is_understood():
    bare = (
        "java.io.IOException: Insufficient number of network buffers: required 65, but only 6 "
        "available."
    )
    (found,) = judged(
        window(failures=(JobFailure(990_000, "java.io.IOException", stacktrace=bare),))
    )
    assert (found.data["required"], found.data["total"]) == (65, None)
