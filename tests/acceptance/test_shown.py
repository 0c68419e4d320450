"""What pages, API, exports, commands and reports show of every recording against an independent
recount of its answers and logs.
"""

import json
import subprocess
import sys
from collections import Counter
from datetime import datetime
from functools import cache
from typing import Any

import pytest

from tests.acceptance.homes import NAMES, RECORDINGS, ROOT, Instance, cluster_of
from tests.acceptance.recount import (
    Key,
    Mentioned,
    figures,
    full_sizes,
    has_one_size,
    recount,
    restarts,
    restores,
)
from tests.acceptance.shown_figures import UNKNOWN, means
from tests.raw_outages import raw_outages
from tests.webapp.analyses.answers import tables_of

FAILED = ("declined", "expired", "failed")
UNSETTLED = ("in_progress", "preflight")
EXACT = ("outcome", "is_savepoint", "end_to_end_ms", "state_bytes", "checkpointed_bytes")
OUTAGE = ("Began", "Down", "Restarts", "Restored", "Processed again")
ALSO_COUNTED = (*EXACT, "subtasks", "acknowledged")


@pytest.fixture(scope="module")
def shown(instance: Instance) -> dict[str, dict[str, dict[str, Any]]]:
    """Recording → job id → what is shown of it."""
    asked = [sys.executable, "-m", "tests.acceptance.shown_by_all"]
    run = subprocess.run(
        asked,
        env=instance.environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-3000:]
    jobs = [json.loads(line) for line in run.stdout.splitlines()]
    return {
        name: {job["job_id"]: job for job in jobs if job["cluster"] == cluster_of(name)}
        for name in NAMES
    }


@cache
def counted(name: str) -> dict[Key, dict[str, Any]]:
    """What each checkpoint of a recording has to show."""
    full = full_sizes(RECORDINGS / name)
    return {
        key: _counted(known, name, full.get(key[:2]))
        for key, known in recount(RECORDINGS / name).items()
    }


def _counted(known: Mentioned, name: str, full: int | None) -> dict[str, Any]:
    subtasks = known.rest["num_subtasks"] if known.rest else None
    own = {"outcome": known.outcome, "is_savepoint": known.is_savepoint, "subtasks": subtasks}
    return own | figures(
        known, is_one_size=has_one_size(name), full=full if known.outcome == "completed" else None
    )


def of_job(name: str, job_id: str) -> dict[tuple[int, int], dict[str, Any]]:
    return {key[1:]: one for key, one in counted(name).items() if key[0] == job_id}


def trigger_ms(instant: str) -> int:
    return round(datetime.fromisoformat(instant).timestamp() * 1000)


def by_key(rows: list[dict[str, Any]]) -> dict[tuple[int, int], dict[str, Any]]:
    keyed = {(row["checkpoint_id"], trigger_ms(row["trigger_time"])): row for row in rows}
    assert len(keyed) == len(rows), "a checkpoint is there more than once"
    return keyed


def reported(job: dict[str, Any]) -> dict[str, Any]:
    """The job in the appendix of its report."""
    key = f"job-{job['job_id']}"
    (document,) = [one["document"] for one in job["report"]["appendix"] if one["key"] == key]
    return document


def reported_rows(job: dict[str, Any], table: str) -> list[dict[str, Any]]:
    return tables_of(reported(job)).get(table, {"rows": []})["rows"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("door", ["api_checkpoints", "export", "command"])
def test_every_checkpoint_has_the_recounted_figures_for_machines(
    shown, name: str, door: str
) -> None:
    assert shown[name].keys() >= {key[0] for key in counted(name)}
    for job_id, job in shown[name].items():
        told = {
            key: {field: row[field] for field in ALSO_COUNTED}
            for key, row in by_key(job[door]).items()
        }
        assert told == of_job(name, job_id)


@pytest.mark.parametrize("name", NAMES)
def test_every_checkpoint_has_the_recounted_figures_in_the_report(shown, name: str) -> None:
    for job_id, job in shown[name].items():
        told = {
            key: {field: row[field] for field in EXACT}
            for key, row in by_key(reported_rows(job, "checkpoints")).items()
        }
        assert told == {
            key: {field: one[field] for field in EXACT} for key, one in of_job(name, job_id).items()
        }


@pytest.mark.parametrize("name", NAMES)
def test_every_checkpoint_has_the_recounted_figures_in_the_table_of_its_job(
    shown, name: str
) -> None:
    for job_id, job in shown[name].items():
        wanted = of_job(name, job_id)
        rows = {
            (int(number), int(trigger)): dict(zip(job["head"], cells, strict=True))
            for number, trigger, *cells in job["rows"]
        }
        assert rows.keys() == wanted.keys()
        assert list(rows) == sorted(rows, key=lambda key: -key[1])
        for key, row in rows.items():
            assert row["Id"] == str(key[0])
            assert _differing(row, wanted[key], outcome="Outcome", state="State") == [], (
                job_id,
                key,
            )
            assert row["Acked"] == _acked(wanted[key], "/"), (job_id, key)


@pytest.mark.parametrize("name", NAMES)
def test_every_checkpoint_has_the_recounted_figures_on_its_page(shown, name: str) -> None:
    for job_id, job in shown[name].items():
        wanted = of_job(name, job_id)
        assert {tuple(map(int, key.split("/"))) for key in job["checkpoints"]} == wanted.keys()
        for (number, trigger), one in wanted.items():
            page = job["checkpoints"][f"{number}/{trigger}"]
            kpis = {label: figure for label, (figure, _below) in page["kpis"].items()}
            assert page["title"].startswith(
                f"{'Savepoint' if one['is_savepoint'] else 'Checkpoint'} {number} "
            )
            assert (
                _differing(
                    {**kpis, "title": page["title"]}, one, outcome="title", state="Full state"
                )
                == []
            ), (job_id, number)
            assert kpis["Acknowledged"] == _acked(one, " of "), (job_id, number)


@pytest.mark.parametrize("name", NAMES)
def test_the_state_of_a_job_is_that_of_its_last_completed_checkpoint(shown, name: str) -> None:
    for job_id, job in shown[name].items():
        completed = [
            (trigger, one)
            for (_id, trigger), one in of_job(name, job_id).items()
            if one["outcome"] == "completed"
        ]
        own = [(trigger, one) for trigger, one in completed if not one["is_savepoint"]]
        size = max(own, key=lambda one: one[0])[1]["state_bytes"] if own else None
        assert means(job["kpis"]["State"][0], size), job_id
        assert job["api_job"]["state_bytes"] == size, job_id
        marks = [one["detail"] for one in job["api_annotations"] if one["kind"] == "savepoint"]
        savepoints = {
            key[0]: one["state_bytes"]
            for key, one in of_job(name, job_id).items()
            if one["is_savepoint"]
        }
        assert {one["checkpoint_id"]: one["state_bytes"] for one in marks} == savepoints, job_id


def test_before_1_15_every_checkpoint_whose_file_was_kept_has_its_full_size() -> None:
    told = [
        one["state_bytes"] for one in counted("1.12.5/G").values() if one["outcome"] == "completed"
    ]
    assert len(told) == 18 and None not in told


def _differing(
    shown: dict[str, str], wanted: dict[str, Any], *, outcome: str, state: str
) -> list[tuple[str, str, Any]]:
    places = {"end_to_end_ms": "End to end", "state_bytes": state, "checkpointed_bytes": "Uploaded"}
    found = [
        (place, shown[place], wanted[field])
        for field, place in places.items()
        if not means(shown[place], wanted[field])
    ]
    has_word = wanted["outcome"].replace("_", " ") in shown[outcome]
    return found if has_word else [*found, (outcome, shown[outcome], wanted["outcome"])]


def _acked(wanted: dict[str, Any], between: str) -> str:
    known, total = wanted["acknowledged"], wanted["subtasks"]
    told = UNKNOWN if known is None else str(known)
    return (
        told
        if total is None and between != "/"
        else UNKNOWN
        if total is None
        else f"{told}{between}{total}"
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_subtasks_of_every_checkpoint_acknowledged_as_flink_answered(shown, name: str) -> None:
    """Where REST was asked for subtasks: those that acknowledged, and of lost checkpoints those
    that never did.
    """
    checked = 0
    for (job_id, number, trigger), known in recount(RECORDINGS / name).items():
        page = shown[name][job_id]["checkpoints"][f"{number}/{trigger}"]
        head, *rows = page["tables"].get("Subtasks", [[]])
        final = known.final if known.outcome != "in_progress" else known.rest
        if final is None or not known.subtasks:
            continue
        silent = [
            part
            for parts in known.subtasks.values()
            for part in parts
            if "ack_timestamp" not in part or part.get("aborted")
        ]
        parts = sum(len(parts) for parts in known.subtasks.values())
        told = [dict(zip(head, row, strict=True))["Acknowledged"] for row in rows]
        assert (len(told), sum("✕" in one for one in told)) == (parts, len(silent)), (
            job_id,
            number,
        )
        if known.outcome not in ("completed", *UNSETTLED):
            lacking = final["num_subtasks"] - final["num_acknowledged_subtasks"]
            assert page["kpis"]["Not acknowledged"][0] == str(lacking), (job_id, number)
            listed = page["tables"].get("Had not acknowledged", [[]])[1:]
            assert sum(int(row[1]) for row in listed) == lacking, (job_id, number)
        checked += 1
    assert checked


def outcomes(name: str, job_id: str) -> Counter[str]:
    return Counter(
        one["outcome"]
        for one in of_job(name, job_id).values()
        if not one["is_savepoint"] and one["outcome"] not in UNSETTLED
    )


@pytest.mark.parametrize("name", NAMES)
def test_counts_by_outcome_are_recounted(shown, name: str) -> None:
    for job_id, job in shown[name].items():
        counts = outcomes(name, job_id)
        failed = sum(counts[one] for one in FAILED)
        of_all = f"{failed} of {counts.total()}" if counts else UNKNOWN
        by_kind = f"{counts['expired']} expired · {counts['declined']} declined" + (
            f" · {counts['failed']} other" if counts["failed"] else ""
        )
        assert job["kpis"]["Failed in this time"] == [
            of_all,
            by_kind if counts else "no checkpoint ended",
        ], job_id
        report_page = job["report_page"]
        first = {one["key"]: one for one in job["report"]["pages"]["blocks"][0]["facts"]}
        assert first["checkpoints_failed"]["value"] == failed, job_id
        note = first["checkpoints_failed"]["note"]
        assert note.startswith(f"of {counts.total()} (" if counts else "none ended"), job_id
        assert report_page["terms"]["Checkpoints failed"] == f"{failed} {note}", job_id


@pytest.mark.parametrize("name", NAMES)
def test_restarts_and_downtime_are_those_of_the_log(shown, name: str) -> None:
    counts, raw = restarts(RECORDINGS / name), raw_outages(name)
    for job_id, job in shown[name].items():
        down = raw if counts[job_id] else []
        assert job["kpis"]["Restarts"][0] == str(counts[job_id]), job_id
        assert job["api_job"]["restarts"] == counts[job_id], job_id
        wanted = [(one.begun_ms, one.ended_ms - one.begun_ms, one.restored_id) for one in down]
        marked = [
            one["detail"]
            for one in job["api_annotations"]
            if one["kind"] == "restart" and "downtime_ms" in one["detail"]
        ]
        assert sorted((trigger_ms(one["began_at"]), one["downtime_ms"]) for one in marked) == [
            one[:2] for one in wanted
        ], job_id
        on_page = [
            dict(zip(OUTAGE, row, strict=True)) for row in job["tables"].get("Outages", [[]])[:0:-1]
        ]
        assert [
            means(row["Down"], lasted)
            for row, (_at, lasted, _id) in zip(on_page, wanted, strict=True)
        ] == [True] * len(wanted)
        assert [row["Restored"] for row in on_page] == [
            str(number) for _at, _lasted, number in wanted
        ], job_id
        assert sum(int(row["Restarts"]) for row in on_page) == counts[job_id], job_id
        told, _between, below = job["report_page"]["terms"]["Restarts"].partition(" ")
        assert told == str(counts[job_id])
        assert not down or means(
            below.removeprefix("down for "), sum(lasted for _at, lasted, _id in wanted)
        ), (job_id, below)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_restored_is_the_last_directory_of_the_log(shown, name: str) -> None:
    found = restores(RECORDINGS / name)
    for job_id, job in shown[name].items():
        wanted = found.get(job_id)
        fields = ("restored_checkpoint_id", "restored_path", "restored_is_savepoint")
        if not wanted:
            assert [job["api_job"][field] for field in fields] == [None] * 3
            assert "Restored" not in job["terms"]
            assert "Restored from" not in job["report_page"]["terms"]
            continue
        number, path = wanted[-1]
        is_savepoint = "/chk-" not in path
        words = f"{'savepoint' if is_savepoint else 'checkpoint'} {number}"
        assert [job["api_job"][field] for field in fields] == [number, path, is_savepoint]
        assert job["terms"]["Restored"].startswith(f"from {words}, ")
        assert job["terms"]["Restored"].endswith(path)
        assert job["report_page"]["terms"]["Restored from"] == f"{words}, {path}"
        marks = [one for one in job["api_annotations"] if one["kind"] == "restore"]
        assert Counter(one["subject"] for one in marks) == Counter(
            str(number) for number, _path in wanted
        )
