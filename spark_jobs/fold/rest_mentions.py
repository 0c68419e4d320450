from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

from ingest.job_states import TERMINAL_STATES
from spark_jobs.fold.mentions import Mention, at_least, by_rest, restore_words
from spark_jobs.fold.rows import Row, Rows
from spark_jobs.fold.snapshots import Types

COUNTER_LAG_MS = 60_000
"""The counter of restarts is a metric, which the JobManager fetches every ten seconds."""

SAME_FAILURE_MS, SWITCHED_WITHIN_MS = 2_000, 10_000
"""A failure is a little earlier than the job's change of state, by the same clock."""
LIVE_STATES = frozenset({"RUNNING", "RESTARTING", "CREATED", "INITIALIZING"})


def rest_mentions(
    jobs: Sequence[Row], types: Types, logged_restarts: Sequence[int]
) -> list[Mention]:
    """``jobs``: one answer per instant, in order. ``logged_restarts``: epoch ms."""
    by_state = (mention for row in jobs for mention in _answer_mentions(row, types))
    return [*by_state, *_uncounted_restarts(jobs, logged_restarts), *_rescaled(jobs)]


def _answer_mentions(row: Row, types: Types) -> Iterator[Mention]:
    if row["start_time"] is not None:
        detail = {"flink_version": row["flink_version"], "parallelism": row["parallelism"]}
        yield by_rest("deploy", "", row["start_time"], "submitted", detail, row)
    if row["restored_at"] is not None:
        what = "savepoint" if row["restored_is_savepoint"] else "checkpoint"
        subject, label, detail = restore_words(
            what, row["restored_checkpoint_id"], row["restored_path"], row["job_id"], types
        )
        yield by_rest("restore", subject, row["restored_at"], label, detail, row)
    # An answer has only the last time of each state.
    running_since = _entered(row, "RUNNING")
    for entry in row["state_since"] or ():
        state, since = entry["state"], entry["since"]
        if since is not None and state == "RESTARTING":
            yield _restart(row, since, running_since)
        elif since is not None and state in TERMINAL_STATES:
            yield by_rest("terminal", state, since, state.lower(), None, row)


def _restart(row: Row, since: int, running_at: int | None) -> Mention:
    detail = None
    if running_at is not None and running_at > since:
        # The tasks run some time after the job's state is RUNNING.
        detail = at_least(since, running_at)
    return by_rest("restart", "", since, "restart", detail, row)


def _entered(row: Row, state: str) -> int | None:
    return next(
        (entry["since"] for entry in row["state_since"] or () if entry["state"] == state), None
    )


def _uncounted_restarts(jobs: Sequence[Row], logged: Sequence[int]) -> Iterator[Mention]:
    """Restarts that only the counter shows; Prometheus has no times of states."""
    counted = [row for row in jobs if row["restarts"] is not None]
    recreated = {row["observed_at"]: since for row, since in _graphs(jobs)}
    for before, row in pairwise(counted):
        by_log = max((at for at in logged if at <= row["observed_at"]), default=None)
        dated = (
            _entered(row, "RESTARTING"),
            max((at for seen, at in recreated.items() if seen <= row["observed_at"]), default=None),
            by_log,
        )
        is_dated = any(
            at is not None and at - before["observed_at"] > -COUNTER_LAG_MS for at in dated
        )
        if row["restarts"] > before["restarts"] and not is_dated:
            count = {"count": row["restarts"] - before["restarts"]}
            yield by_rest("restart", "", row["observed_at"], "restart", count, row)


def failed_restarts(
    jobs: Sequence[Row], failures: Rows, logged: Sequence[int], recreated: Sequence[int]
) -> Iterator[Mention]:
    """Restarts without a reported RESTARTING: the job lives after a failure, or is RUNNING again.
    ``logged``, ``recreated``: instants of restarts by the log, and of new graphs.
    """
    entered = {at for row in jobs if (at := _entered(row, "RESTARTING")) is not None}
    known = sorted({*logged, *entered})
    as_of = {row["ts"]: row["as_of"] for row in failures if row["is_root"]}
    roots = sorted(as_of)
    for at, following in pairwise([*roots, inf]):
        is_dated = any(
            at - SAME_FAILURE_MS <= instant_ms <= at + SWITCHED_WITHIN_MS for instant_ms in known
        )
        is_recreated = any(at <= instant_ms < following for instant_ms in recreated)
        if not is_dated and not is_recreated and _survived(jobs, at):
            yield Mention("restart", "", at, False, "restart", None, as_of[at])
    instants = [*known, *roots, *recreated]
    for before, row in pairwise(row for row in jobs if _entered(row, "RUNNING") is not None):
        earlier, since = _entered(before, "RUNNING") or 0, _entered(row, "RUNNING") or 0
        is_dated = any(earlier < at <= since + SAME_FAILURE_MS for at in instants)
        if since > earlier and _is_same_life(before, row) and not is_dated:
            yield by_rest("restart", "", since, "restart", None, row)


def _survived(jobs: Rows, at: int) -> bool:
    return any(
        row["observed_at"] > at
        and row["start_time"] is not None
        and row["start_time"] <= at
        and row["state"] in LIVE_STATES
        for row in jobs
    )


def _is_same_life(before: Row, row: Row) -> bool:
    return bool(before["start_time"] == row["start_time"]) and _entered(
        before, "CREATED"
    ) == _entered(row, "CREATED")


def recreated_restarts(jobs: Sequence[Row]) -> Iterator[Mention]:
    """Of the adaptive scheduler: REST only has the time of the new graph."""
    for row, since in _graphs(jobs):
        yield _restart(row, since, _entered(row, "RUNNING"))


def _graphs(jobs: Sequence[Row]) -> Iterator[tuple[Row, int]]:
    for before, row in pairwise(row for row in jobs if _entered(row, "CREATED") is not None):
        since = _entered(row, "CREATED") or 0
        if row["start_time"] == before["start_time"] and since > (_entered(before, "CREATED") or 0):
            yield row, since


def _rescaled(jobs: Sequence[Row]) -> Iterator[Mention]:
    parallelism: dict[str, int] = {}
    for row in jobs:
        for vertex in row["vertices"] or ():
            vertex_id, name, now = vertex["vertex_id"], vertex["name"], vertex["parallelism"]
            before = parallelism.get(vertex_id)
            if now is None:
                continue
            parallelism[vertex_id] = now
            if before is not None and now != before:
                detail = {"vertex_name": name, "from": before, "to": now}
                label = f"{name or vertex_id}: {before} → {now}"
                yield by_rest("rescale", vertex_id, row["observed_at"], label, detail, row)
