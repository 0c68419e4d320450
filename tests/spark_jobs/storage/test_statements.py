"""Attestations that name a job and a directory which is not that job's."""

from typing import Any

import pytest

from spark_jobs.storage.statements import dead_jobs

DEAD, LIVING = "d" * 32, "b" * 32
HOUR_US = 3_600_000_000
AT = 1_000 * HOUR_US


def job(cluster: str, job_id: str, directory: str | None, **fields: Any) -> dict[str, Any]:
    instants = dict.fromkeys(
        ("started_at", "restored_at", "last_completed_at", "in_flight_since", "ended_at"), 0
    )
    known = {"seen": True, "terminal": False, "written_directory": directory}
    return {"audit_id": "a", "cluster": cluster, "job_id": job_id, **instants, **known, **fields}


def attested(directory: str) -> dict[str, Any]:
    of = {"audit_id": "a", "kind": "dead_job", "subject": directory}
    return of | {"stated_at": AT, "cluster": "gone", "job_id": DEAD}


GONE = job("gone", DEAD, f"s3://b/c/{DEAD}", seen=False)


@pytest.mark.parametrize("written", [f"s3://b/c/{LIVING}", None])
def test_the_directory_of_a_job_that_lives_is_not_dead_by_the_word_on_another_job(
    written: str | None,
) -> None:
    directory = f"s3://b/c/{LIVING}"
    held = [{"audit_id": "a", "job_directory": directory, "newest": 0}]
    dead = dead_jobs([attested(directory)], [GONE, job("prod", LIVING, written)], held)
    assert not dead.since and len(dead.void) == 1


def test_the_directory_of_a_dead_job_counts_while_another_one_lives() -> None:
    others = job("prod", LIVING, f"s3://b/c/{LIVING}")
    dead = dead_jobs([attested(f"s3://b/c/{DEAD}")], [GONE, others], [])
    assert dead.since == {("a", f"s3://b/c/{DEAD}"): AT} and not dead.void
