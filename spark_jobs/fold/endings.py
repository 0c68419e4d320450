"""When a job's life ended under its checkpoints: what turns one without an answer into an aborted one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from spark_jobs.diagnosis.window_contents import TERMINAL_STATES
from spark_jobs.fold.rows import Row

COORDINATOR_STOPPED = "coordinator_stopped"
STATE_CHANGED = ("job_state", "job_terminal")
# Entering one of these, the JobManager suspends the coordinator, which drops every pending checkpoint.
ENDING_STATES = ("FAILING", "RESTARTING", "CANCELLING", "SUSPENDED", *TERMINAL_STATES)
STOPPED = "STOPPED"

DEFAULT_TIMEOUT_MS = 10 * 60 * 1000
"""Flink's own default of ``execution.checkpointing.timeout``."""


@dataclass(frozen=True, order=True)
class Ending:
    """``ending`` is the job's new state, or ``STOPPED`` where only its checkpoint coordinator was stopped."""

    ended_at: int
    ending: str
    as_of: int

    @property
    def text(self) -> str:
        if self.ending == STOPPED:
            return "The checkpoint coordinator was stopped before it completed."
        return f"The job entered {self.ending} before it completed."


def endings(jobs: Iterable[Row], events: Iterable[Row]) -> list[Ending]:
    """Each time one job is known to have dropped its pending checkpoints, in the order of time."""
    logged = (
        Ending(event["ts"], (event["to_state"] or STOPPED).upper(), event["observed_at"]) for event in events if _tells_of_an_end(event)
    )
    reported = (
        Ending(job["end_time"], job["state"], job["observed_at"])
        for job in jobs
        if job["state"] in TERMINAL_STATES and job["end_time"] is not None
    )
    return sorted({*logged, *reported})


def first_ending(every: Sequence[Ending], trigger_time: int, logged_trigger: int | None, timeout_ms: int | None) -> Ending | None:
    """The first after the trigger; None where the job outlived the checkpoint, as far as known.

    Where only REST told of the trigger, the ending must come within the time-out: later, the answer that
    nobody saw may have been any.
    """
    within_ms = DEFAULT_TIMEOUT_MS if timeout_ms is None else timeout_ms
    for ending in every:
        if ending.ended_at >= trigger_time and (logged_trigger is not None or ending.ended_at - trigger_time <= within_ms):
            return ending
    return None


def _tells_of_an_end(event: Row) -> bool:
    if event["kind"] == COORDINATOR_STOPPED:
        return True
    return event["kind"] in STATE_CHANGED and (event["to_state"] or "").upper() in ENDING_STATES
