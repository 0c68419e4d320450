from typing import Any

from ingest.flink_rest.payloads.fields import Fields, clean_text
from ingest.job_states import TERMINAL_STATES
from ingest.json_members import member
from ingest.records import Job, StateSince

TERMINAL = frozenset(TERMINAL_STATES)

MAX_STATE_CHARS = 32


def state_in(entry: Any) -> str:
    state = member(entry, "state")
    return (clean_text(state, MAX_STATE_CHARS) or "").upper() if isinstance(state, str) else ""


def overview_entries(body: Any) -> list[tuple[str, Any]]:
    return Fields(body).items("jobs")


def job(body: Any, place: str = "") -> Job:
    """Only its name, state and times."""
    fields = Fields(body, place)
    return Job(
        job_id=fields.required_flink_id("jid"),
        name=fields.text("name"),
        state=fields.upper("state"),
        start_time=fields.instant("start-time"),
        end_time=fields.instant("end-time"),
    )


def state_since(body: Any) -> tuple[StateSince, ...]:
    timestamps = Fields(body).object("timestamps")
    if timestamps is None:
        return ()
    times = ((timestamps.instant(state), state) for state in timestamps.names())
    reached = sorted((since, state) for since, state in times if since)
    return tuple(StateSince(state.upper(), since) for since, state in reached)
