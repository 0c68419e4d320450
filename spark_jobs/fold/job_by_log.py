from spark_jobs.fold.rows import Row, RowList, rank


def line_at(event: Row) -> int:
    """At most when it was read: a line of a wrong time zone would stay the newest forever."""
    ts, observed_at = int(event["ts"]), int(event["observed_at"])
    return min(ts, observed_at)


def job_logged(events: RowList) -> Row:
    instants = [line_at(event) for event in events]
    names = [
        (line_at(event), event["job_name"]) for event in events if event["job_name"] is not None
    ]
    states = [
        (line_at(event), rank(event["offset"]), event["to_state"])
        for event in events
        if event["kind"] in ("job_state", "job_terminal") and event["to_state"] is not None
    ]
    restores = [
        (line_at(event), event["checkpoint_id"], _is_savepoint(event), event["path"])
        for event in events
        if event["kind"] == "restored"
    ]
    state = max(states, default=None)
    restored = max(restores, key=rank, default=(None, None, None, None))
    return {
        "name": max(names)[1] if names else None,
        "state": state and state[2],
        "state_at": state and state[0],
        "start_time": max(
            (line_at(event) for event in events if event["kind"] == "job_submitted"), default=None
        ),
        "restarts": sum(
            event["kind"] == "job_state" and event["to_state"] == "RESTARTING" for event in events
        )
        if events
        else None,
        "restored_at": restored[0],
        "restored_checkpoint_id": restored[1],
        "restored_is_savepoint": restored[2],
        "restored_path": restored[3],
        "first_seen_at": min(instants, default=None),
        "last_seen_at": max(instants, default=None),
        "as_of": max((event["observed_at"] for event in events), default=None),
    }


def _is_savepoint(event: Row) -> bool | None:
    return None if event["checkpoint_type"] is None else event["checkpoint_type"] == "Savepoint"
