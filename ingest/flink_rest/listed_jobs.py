"""The jobs that a cluster lists, each with what decides how it is read."""

from dataclasses import dataclass
from typing import Any

from ingest.flink_rest.answers import Answer
from ingest.flink_rest.parse_results import ParseResults
from ingest.flink_rest.payloads import jobs
from ingest.records import Skip


@dataclass(frozen=True, slots=True)
class ListedJob:
    """One entry of ``/jobs/overview``, which is the body of ``answer``; times are epoch ms, 0 or
    less where unknown.
    """

    job_id: str
    state: str
    modified_ms: int
    end_ms: int
    answer: Answer

    @property
    def terminal(self) -> bool:
        return self.state in jobs.TERMINAL


def listed_jobs(overview: Answer) -> tuple[list[ListedJob], tuple[Skip, ...]]:
    """Each job of ``/jobs/overview`` once, and the entries that were skipped."""
    results = ParseResults()
    by_id = {}
    for place, entry in results.each(results.parse(jobs.overview_entries, overview), overview):
        if job := results.parse(jobs.job_state, overview, place, body=entry, place=place):
            answer = Answer(overview.path, overview.at, entry)
            state = jobs.state_in(entry)
            by_id[job.job_id] = ListedJob(
                job.job_id,
                state,
                _whole(entry, "last-modification"),
                _whole(entry, "end-time"),
                answer,
            )
    return list(by_id.values()), results.skips()


def _whole(entry: dict[str, Any], name: str) -> int:
    value = entry.get(name)
    return value if isinstance(value, int) else 0
