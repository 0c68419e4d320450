from ingest.job_states import NOT_LISTED, TERMINAL_STATES
from spark_jobs.fold.job_by_log import job_logged
from spark_jobs.fold.job_by_rest import RESTORE, job_reported
from spark_jobs.fold.older_facts import OlderFacts, is_completed_checkpoint, trigger_order
from spark_jobs.fold.rows import (
    Row,
    RowList,
    Rows,
    first_known,
    largest,
    least,
    newest_by,
    percentile,
)
from spark_jobs.fold.snapshots import Types, is_savepoint
from spark_jobs.serving import FAILED_OUTCOMES, JOB_CURRENT, PHASES

RECENT = 16
"""Number of checkpoints in the recent figures of the fleet page."""

# Log and REST date a restore some milliseconds apart; REST describes it more exactly.
RESTORE_TOLERANCE_MS = 1000


def job_current(
    jobs: RowList,
    facts: RowList,
    pressure: Rows,
    events: RowList,
    older: OlderFacts,
    types: Types,
) -> Row:
    rest = job_reported(jobs)
    logged = job_logged(events)
    windows = newest_by(pressure, ("vertex_id",), ("window_start", "as_of"))
    state = _state(rest, logged)
    is_terminal = None if state is None else state in TERMINAL_STATES
    log_end = logged["state_at"] if is_terminal and logged["state"] == state else None
    is_rest_outdated = rest["state"] == NOT_LISTED and state != NOT_LISTED
    restore = logged if _restored_by_log(rest, logged) else rest
    known_at = largest(
        older.as_of, *(fact["as_of"] for fact in facts), *(window["as_of"] for window in windows)
    )
    return {
        **{name: rest[name] for name in JOB_CURRENT.column_names if name in rest},
        "name": first_known(rest["name"], logged["name"]),
        "state": state,
        "terminal": is_terminal,
        "start_time": first_known(rest["start_time"], logged["start_time"]),
        "end_time": log_end if is_rest_outdated else first_known(rest["end_time"], log_end),
        "restarts": first_known(rest["restarts"], logged["restarts"]),
        **_last_completed([*facts, older.last_completed] if older.last_completed else facts),
        **_recent(facts),
        "pressured_share": largest(*(window["backpressured_share"] for window in windows)),
        **{name: restore[name] for name in RESTORE},
        "restored_is_savepoint": is_savepoint(
            restore["restored_path"], restore["restored_is_savepoint"], types
        ),
        "first_seen_at": least(
            rest["first_seen_at"],
            logged["first_seen_at"],
            older.first_trigger,
            *(fact["trigger_time"] for fact in facts),
        ),
        "last_seen_at": largest(rest["last_seen_at"], logged["last_seen_at"], known_at),
        "as_of": largest(rest["as_of"], logged["as_of"], known_at),
    }


def _state(rest: Row, logged: Row) -> str | None:
    """The newer state of REST and log; in a tie, of REST. NOT_LISTED is noticed only after a job's
    end, so a log that has the end counts.
    """
    is_end_logged = rest["state"] == NOT_LISTED and logged["state"] in TERMINAL_STATES
    rest_at = first_known(rest["end_time"] if is_end_logged else None, rest["state_at"])
    by_rest = [(rest_at, 1, rest["state"])] if rest["state"] is not None else []
    by_log = [(logged["state_at"], 0, logged["state"])] if logged["state"] is not None else []
    newest: tuple[int, int, str | None] = max([*by_rest, *by_log], default=(0, 0, None))
    return newest[2]


def _restored_by_log(rest: Row, logged: Row) -> bool:
    if rest["restored_at"] is None:
        return True
    return (
        logged["restored_at"] is not None
        and logged["restored_at"] - rest["restored_at"] > RESTORE_TOLERANCE_MS
    )


def _last_completed(facts: Rows) -> Row:
    completed = [fact for fact in facts if is_completed_checkpoint(fact)]
    last = max(completed, key=trigger_order, default={})
    with_path = max(
        (fact for fact in completed if fact.get("external_path")), key=trigger_order, default={}
    )
    return {
        "last_completed_id": last.get("checkpoint_id"),
        "last_completed_at": first_known(last.get("end_time"), last.get("trigger_time")),
        "last_completed_ms": last.get("end_to_end_ms"),
        "last_completed_path": with_path.get("external_path"),
        "state_bytes": last.get("state_bytes"),
        "checkpointed_bytes": last.get("checkpointed_bytes"),
    }


def _recent(facts: Rows) -> Row:
    recent = sorted((fact for fact in facts if fact["final"]), key=trigger_order)[-RECENT:]
    checkpoints = [fact for fact in recent if not fact["is_savepoint"]]
    completed = [fact for fact in checkpoints if fact["outcome"] == "completed"]
    outcomes = [
        {name: fact[name] for name in ("checkpoint_id", "outcome", "is_savepoint")}
        for fact in recent
    ]
    # In a tie, the earlier phase counts.
    phase_ms = {
        phase: sum(fact[f"slowest_{phase}_ms"] or 0 for fact in completed) for phase in PHASES
    }
    dominant = max(phase_ms, key=lambda phase: phase_ms[phase])
    whole_ms = sum(fact["slowest_end_to_end_ms"] or 0 for fact in completed)
    is_known = phase_ms[dominant] > 0
    return {
        "recent_outcomes": outcomes or None,
        "recent_total": len(checkpoints) if recent else None,
        "recent_failed": sum(fact["outcome"] in FAILED_OUTCOMES for fact in checkpoints)
        if recent
        else None,
        "end_to_end_p95_ms": percentile((fact["end_to_end_ms"] for fact in completed), 0.95),
        "dominant_phase": dominant if is_known else None,
        "dominant_phase_share": phase_ms[dominant] / whole_ms if is_known and whole_ms else None,
    }
