"""One archive: ``{"archive": [{"path": "/jobs/…", "json": "<a JSON document as text>"}, …]}``."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ingest.errors import Skipped
from ingest.flink_rest.answers import Answer, JobAnswers
from ingest.flink_rest.listed_jobs import listed_jobs
from ingest.flink_rest.payloads import jobs
from ingest.flink_rest.payloads.fields import Fields, elements
from ingest.flink_rest.routing import file_job_answer, is_read, job_of
from ingest.json_bounds import MAX_HELD_BYTES, TooManyValues, decoded
from ingest.messages import message
from ingest.records import Skip

MAX_SKIPS = 100


def job_readings(content: bytes, at: datetime) -> tuple[list[JobAnswers], list[Skip]]:
    """What an archive holds of its job (in principle, of several): one reading each, and the
    skipped documents.

    The job stands as it ended, so the time of observation is its end, or ``at`` where that is
    unknown. Raises ``Skipped`` where the file is no archive, for example because Flink has not
    finished writing it.
    """
    skips: list[Skip] = []
    documents = dict(_documents(content, skips))
    overviews = _overviews(documents.pop("/jobs/overview", None), at, skips)
    configuration = documents.pop("/jobmanager/config", None)
    job_ids = dict.fromkeys(
        [*overviews, *(job_id for path in documents if (job_id := job_of(path)))]
    )
    readings = []
    for job_id in job_ids:
        overview = overviews.get(job_id)
        ended_at = (
            _ended_at(documents.get(f"/jobs/{job_id}"))
            or (_ended_at(overview) if overview else None)
            or at
        )
        reading = JobAnswers(job_id)
        reading.overview = Answer("/jobs/overview", ended_at, overview) if overview else None
        reading.jobmanager_config = (
            Answer("/jobmanager/config", ended_at, configuration) if configuration else None
        )
        for path, body in documents.items():
            if job_of(path) == job_id:
                file_job_answer(reading, Answer(path, ended_at, body))
        readings.append(reading)
    return readings, skips


def _overviews(body: Any, at: datetime, skips: list[Skip]) -> dict[str, Any]:
    if body is None:
        return {}
    listed, bad = listed_jobs(Answer("/jobs/overview", at, body))
    skips.extend(bad)
    return {job.job_id: job.answer.body for job in listed}


def _documents(content: bytes, skips: list[Skip]) -> Iterator[tuple[str, Any]]:
    try:
        document, left = decoded(content)
        archive = Fields(document)
    except TooManyValues as error:
        raise Skipped(message("the archive is not read: {error:text}", error=str(error))) from None
    except (ValueError, RecursionError):
        raise Skipped(
            message("the file is not a JSON document; Flink may still be writing it")
        ) from None
    left = MAX_HELD_BYTES - left
    for place, entry in elements(archive.raw("archive"), "archive"):
        try:
            fields = Fields(entry, place)
            path, document = fields.the_text("path"), fields.raw("json")
        except Skipped as error:
            skips.append(Skip(place, "bad_payload", str(error)))
            continue
        if is_read(path):
            try:
                body, held_bytes = decoded(document.encode())
                left -= held_bytes
                if left < 0:
                    raise Skipped(
                        message(
                            "the archive is not read: its documents take more than "
                            "{max_held_bytes:count} bytes",
                            max_held_bytes=MAX_HELD_BYTES,
                        )
                    )
                yield path, body
            except TooManyValues as error:
                skips.append(
                    Skip(
                        path,
                        "too_large",
                        message(
                            "the archived document is not read: {error:text}", error=str(error)
                        ),
                    )
                )
            except (ValueError, AttributeError, RecursionError):
                skips.append(Skip(path, "bad_json", message("the archived document is not JSON")))
        if len(skips) > MAX_SKIPS:
            skips.append(
                Skip(
                    place,
                    "more",
                    message(
                        "More than {max_skips:number} documents could not be read; the rest is not "
                        "tried.",
                        max_skips=MAX_SKIPS,
                    ),
                )
            )
            return


def _ended_at(job: Any) -> datetime | None:
    try:
        return jobs.job_state(job).end_time
    except Skipped:
        return None
