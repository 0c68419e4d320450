"""Recorded answers of real Flink clusters, for tests that start from a true payload."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.assembly import observe_job
from ingest.flink_rest.routing import file_job_answer, job_of
from ingest.recordings.recording import Recording
from ingest.records import Record, Skip

RECORDINGS = Path(__file__).parent.parent / "fixtures" / "recordings"
ALL = sorted(str(path.parent.relative_to(RECORDINGS)) for path in RECORDINGS.glob("*/*/rest.jsonl"))
AT = datetime(2026, 11, 21, 4, 0, tzinfo=UTC)


@cache
def answers(recording: str) -> tuple[Answer, ...]:
    """Every successful GET answer, in recorded order."""
    lines = (RECORDINGS / recording / "rest.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    good = [entry for entry in entries if entry["status"] == 200 and "method" not in entry]
    return tuple(
        Answer(entry["path"], datetime.fromtimestamp(entry["ts"], UTC), entry["body"])
        for entry in good
    )


def body(recording: str, ending: str, where: Any = lambda body: True) -> Any:
    """A fresh copy of the last body whose endpoint ends so and that satisfies ``where``."""
    found = [
        answer.body
        for answer in answers(recording)
        if answer.endpoint.endswith(ending) and where(answer.body)
    ]
    return json.loads(json.dumps(found[-1]))


def reading(recording: str) -> JobAnswers:
    """One reading of the recording's first job, from its middle; what was asked only earlier is
    filled in.
    """
    everything = answers(recording)
    job_id = next(found for answer in everything if (found := job_of(answer.path)))
    filled = JobAnswers(job_id)
    middle = len(everything) // 2
    for answer in (*everything[middle:], *everything[:middle]):
        if job_of(answer.path) == job_id:
            file_job_answer(filled, answer)
    return filled


def records(reading: JobAnswers) -> tuple[tuple[Record, ...], tuple[Skip, ...]]:
    """What its answers become, without times: (records, skips)."""
    found = [record for part in observe_job(reading, "c", "rest") for record in part.records]
    return tuple(one for one in found if not isinstance(one, Skip)), tuple(
        one for one in found if isinstance(one, Skip)
    )


def observed(recording: str) -> Iterator[tuple[datetime, str, Record]]:
    """(observed at, source, record) of a whole recording."""
    for readings, _ in Recording(RECORDINGS / recording, "c").read():
        for found in readings:
            for record in found.records:
                yield found.observed_at, found.source, record
