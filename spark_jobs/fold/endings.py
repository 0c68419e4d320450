"""Endings: changes of a job's state that drop its pending checkpoints."""

from collections.abc import Sequence
from dataclasses import dataclass

from ingest.job_states import NOT_LISTED, TERMINAL_STATES
from ingest.messages import message
from spark_jobs.fold.rows import Row, Rows

COORDINATOR_STOPPED = "coordinator_stopped"
STATE_CHANGED = ("job_state", "job_terminal")
# In these states the coordinator is suspended and drops each pending checkpoint.
ENDING_STATES = ("FAILING", "RESTARTING", "CANCELLING", "SUSPENDED", *TERMINAL_STATES)
BY_FAILURE = ("FAILING", "RESTARTING", "FAILED")
STOPPED = "STOPPED"

DEFAULT_TIMEOUT_MS = 10 * 60 * 1000
"""Flink's default of ``execution.checkpointing.timeout``."""


@dataclass(frozen=True, order=True)
class Ending:
    """``ending``: the job's new state, or ``STOPPED`` if only its checkpoint coordinator stopped.
    ``NOT_LISTED`` is dated when noticed.
    """

    ended_at: int
    ending: str
    as_of: int

    @property
    def text(self) -> str:
        if self.ending == STOPPED:
            return message("The checkpoint coordinator was stopped before it completed.")
        if self.ending == NOT_LISTED:
            return message(
                "The JobManager listed the job no more; whether the checkpoint completed is not "
                "known."
            )
        return message("The job entered {ending:name} before it completed.", ending=self.ending)

    @property
    def is_meant(self) -> bool:
        return self.ending not in BY_FAILURE


def endings(jobs: Rows, events: Rows) -> list[Ending]:
    logged = (
        Ending(event["ts"], (event["to_state"] or STOPPED).upper(), event["observed_at"])
        for event in events
        if _is_ending(event)
    )
    reported = (
        Ending(at, state, job["observed_at"])
        for job in jobs
        for at, state in reported_states(job)
        if state in ENDING_STATES
    )
    vanished = (
        Ending(job["observed_at"], NOT_LISTED, job["observed_at"])
        for job in jobs
        if job["state"] == NOT_LISTED
    )
    # A state is reported repeatedly; the first report counts.
    unique: dict[tuple[int, str], Ending] = {}
    for ending in sorted({*logged, *reported, *vanished}):
        unique.setdefault((ending.ended_at, ending.ending), ending)
    return list(unique.values())


def reported_states(job: Row) -> list[tuple[int, str]]:
    dated = [(entry["since"], entry["state"]) for entry in job["state_since"] or ()]
    ended = [(job["end_time"], job["state"])] if job["state"] in TERMINAL_STATES else []
    return [(at, state) for at, state in (*dated, *ended) if at is not None and state is not None]


def ending_between(all_endings: Sequence[Ending], from_ms: int, to_ms: int) -> Ending | None:
    return next(
        (
            ending
            for ending in all_endings
            if from_ms <= ending.ended_at <= to_ms and ending.ending != NOT_LISTED
        ),
        None,
    )


def first_ending(
    all_endings: Sequence[Ending],
    trigger_time: int,
    logged_trigger: int | None,
    timeout_ms: int | None,
) -> Ending | None:
    """The first ending after the trigger; within the time-out if only REST has the trigger."""
    within_ms = DEFAULT_TIMEOUT_MS if timeout_ms is None else timeout_ms
    return next(
        (
            ending
            for ending in all_endings
            if ending.ended_at >= trigger_time
            and (logged_trigger is not None or ending.ended_at - trigger_time <= within_ms)
        ),
        None,
    )


def _is_ending(event: Row) -> bool:
    if event["kind"] == COORDINATOR_STOPPED:
        return True
    return event["kind"] in STATE_CHANGED and (event["to_state"] or "").upper() in ENDING_STATES
