"""placement.uneven: what a real Flink did with its tasks, counted from its raw answers."""

import json
from collections import Counter
from dataclasses import replace

import pytest

from ingest.flink_rest.versions import release
from spark_jobs.diagnosis.registry import diagnose, limits
from spark_jobs.diagnosis.samples import Annotation, VertexWindow
from tests.played import answers, occurrences, of_rule
from tests.replayed import RECORDINGS
from tests.windows import recorded_windows

RULE = "placement.uneven"
UNSPREAD, VERTEX = "2.3.0/unspread", r"/jobs/[^/]+/vertices/([^/]+)"


def judged(window, **overrides):
    return diagnose(
        window, limits({f"{RULE}.{name}": value for name, value in overrides.items()}), only=[RULE]
    )


def findings(recording, **overrides):
    return [
        (window, one)
        for window in recorded_windows(recording)
        for one in judged(window, **overrides).findings
    ]


def tasks_by_taskmanager(recording):
    """(epoch s, job, vertex) → tasks by TaskManager, as Flink answered."""
    found = {}
    for line in (
        (RECORDINGS / recording.replace("-", "/", 1) / "rest.jsonl").read_text("utf-8").splitlines()
    ):
        entry = json.loads(line)
        parts = entry["path"].strip("/").split("/")
        if entry["status"] == 200 and len(parts) == 4 and parts[::2] == ["jobs", "vertices"]:
            found[entry["ts"], parts[1], parts[3]] = Counter(
                one.get("taskmanager-id") for one in entry["body"]["subtasks"]
            )
    return found


def test_a_taskmanager_with_eleven_of_fourteen_tasks_is_found():
    (window, found), *_ = findings("1.20.5-L2")
    newest = {}
    for (at, job_id, vertex_id), tasks in tasks_by_taskmanager("1.20.5-L2").items():
        if job_id == window.job_id and at * 1000 <= window.at_ms:
            newest[vertex_id] = tasks
    counted = sum(newest.values(), Counter())
    assert sorted(counted.values()) == [3, 11]
    assert dict(found.data["tasks"]) == dict(counted)
    assert found.severity == "info"
    assert found.title.endswith("runs 11 of 14 tasks")
    assert "Flink put 11 tasks on" in found.cause and "the other one runs 3" in found.cause
    assert "cluster.evenly-spread-out-slots: true" in found.next_step
    assert found.evidence[0].value == pytest.approx(11 / 7)


@pytest.mark.parametrize(
    "recording", ["1.20.5-B", "1.20.5-E", "1.20.5-G", "1.20.5-K", "1.20.5-L1", "1.12.5-G"]
)
def test_small_differences_are_no_finding(recording):
    assert findings(recording) == []


def test_flinks_balanced_scheduling_is_no_finding():
    assert RULE not in {one["rule"] for one in occurrences("2.3.0/balanced")}


def test_on_2_3_0_too_a_taskmanager_with_ten_of_twelve_tasks_is_found():
    newest = {
        one.found: Counter(task["taskmanager-id"] for task in one.body["subtasks"])
        for one in answers(UNSPREAD, VERTEX)
    }
    counted = sum(newest.values(), Counter())
    assert sorted(counted.values()) == [2, 10]
    found = of_rule(UNSPREAD, RULE)[-1]
    assert found["title"].endswith("runs 10 of 12 tasks")
    assert found["evidence"][0]["value"] == pytest.approx(10 / 6)
    assert "taskmanager.load-balance.mode: TASKS" in found["next_step"]


@pytest.mark.parametrize(
    ("played", "setting"),
    [
        ("1.17.2/stacked", "cluster.evenly-spread-out-slots: true"),
        ("2.1.1/stacked", "taskmanager.load-balance.mode: SLOTS"),
    ],
)
def test_vertices_that_share_a_slot_are_uneven_however_slots_are_spread_as_was_set(played, setting):
    *_, config = answers(played, "/jobmanager/config")
    name, value = setting.split(": ")
    assert {"key": name, "value": value} in config.body
    newest = {
        one.found: Counter(task["taskmanager-id"] for task in one.body["subtasks"])
        for one in answers(played, VERTEX)
    }
    counted = sum(newest.values(), Counter())
    assert sorted(counted.values()) == [4, 18]
    found = of_rule(played, RULE)
    assert found
    for one in found:
        assert one["title"].endswith("runs 18 of 22 tasks")
        assert one["next_step"].startswith(f"{setting} is set already. ")
        assert (one["severity"], "waits for it" in one["cause"]) == ("info", False)


def test_it_is_a_warning_where_the_fullest_taskmanager_is_the_busiest():
    loaded = loaded_window()
    (found,) = judged(loaded).findings
    assert found.severity == "warning"
    assert "It is the busiest too: the job waits for it." in found.cause


@pytest.mark.parametrize(
    "change",
    [
        lambda window: {"start_time_ms": window.at_ms - 7000},
        lambda window: {"annotations": (Annotation(window.at_ms - 7000, "rescale"),)},
    ],
    ids=["start", "rescale"],
)
def test_seconds_after_a_start_or_rescaling_no_job_is_said_to_wait(change):
    loaded = loaded_window()
    (found,) = judged(replace(loaded, **change(loaded))).findings
    assert found.severity == "info"
    assert "waits for it" not in found.cause
    assert "busy time of the fullest over the mean" not in [one.name for one in found.evidence]


def test_the_busiest_taskmanager_of_a_real_job_without_back_pressure_limits_nothing():
    newest = of_rule(UNSPREAD, RULE)[-1]
    (busy,) = [one for one in newest["evidence"] if one["name"].startswith("busy time")]
    assert busy["value"] > busy["threshold"]
    held = [
        float(figure["value"])
        for one in answers(UNSPREAD, VERTEX + r"/metrics\?get=.*")
        for figure in one.body
        if figure["id"].endswith("backPressuredTimeMsPerSecond")
    ]
    assert held and max(held) < 500
    assert newest["severity"] == "info" and "waits for it" not in newest["cause"]


def loaded_window():
    """Long after its start, the fullest TaskManager has all the work and the source waits."""
    (window, found), *_ = findings("1.20.5-L2")
    fullest = found.data["taskmanager_id"]
    busy = [
        replace(
            v,
            busy_ratio=tuple(0.9 if tm == fullest else 0.1 for tm in v.taskmanager_id),
            backpressured_ratio=(0.6,) * len(v.taskmanager_id),
        )
        for v in window.vertex_windows
    ]
    return replace(
        window, vertex_windows=tuple(busy), start_time_ms=None, starts=(), annotations=()
    )


def test_where_tasks_run_is_unknown_while_they_are_scheduled():
    window, _found = findings("1.20.5-L2")[0]
    nowhere = [
        replace(v, taskmanager_id=(None,) * len(v.taskmanager_id)) for v in window.vertex_windows
    ]
    found = judged(replace(window, vertex_windows=tuple(nowhere)))
    assert found.findings == ()
    assert [one.missing for one in found.unknowns] == ["on which TaskManagers its subtasks run"]


def test_one_taskmanager_has_nothing_to_spread():
    window, _found = findings("1.20.5-L2")[0]
    alone = [
        replace(v, taskmanager_id=("tm",) * len(v.taskmanager_id)) for v in window.vertex_windows
    ]
    assert judged(replace(window, vertex_windows=tuple(alone))) == judged(
        replace(window, terminal=True)
    )


@pytest.mark.parametrize(
    ("version", "setting"),
    [
        ("1.20.5", "cluster.evenly-spread-out-slots: true"),
        ("2.1.0", "load-balance.mode: SLOTS"),
        ("2.3.0", "load-balance.mode: TASKS"),
    ],
)
def test_what_to_set_fits_the_version(version, setting):
    window, _found = findings("1.20.5-L2")[0]
    (found,) = judged(replace(window, version=release(version))).findings
    assert setting in found.next_step


def test_a_vertex_that_has_ended_leaves_the_others_to_be_judged():
    """Its tasks have no place any more; half of all tasks would be unknown with it."""
    (window, _), *_ = findings("1.20.5-L2")
    running = sum(map(len, (vertex.taskmanager_id for vertex in window.vertex_windows)))
    gone = VertexWindow("ended", parallelism=3 * running, samples=2)
    both = judged(replace(window, vertex_windows=(*window.vertex_windows, gone)))
    assert not both.unknowns
    assert both.findings[0].title.endswith("runs 11 of 14 tasks")


@pytest.mark.parametrize(
    ("version", "settings", "is_set"),
    [
        ("1.20.5", {"cluster.evenly-spread-out-slots": "true"}, True),
        ("1.20.5", {"taskmanager.load-balance.mode": "SLOTS"}, True),
        ("1.20.5", {"cluster.evenly-spread-out-slots": "false"}, False),
        ("1.20.5", {}, False),
        ("2.3.0", {"taskmanager.load-balance.mode": "TASKS"}, True),
        ("2.3.0", {"taskmanager.load-balance.mode": "SLOTS"}, False),
    ],
)
def test_what_is_set_already_is_not_advised(version, settings, is_set):
    (window, _), *_ = findings("1.20.5-L2")
    window = replace(window, version=release(version), flink_version=version, settings=settings)
    (found,) = judged(window).findings
    assert ("is set already" in found.next_step) is is_set
    assert (", set " in found.next_step) is not is_set
