from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import inf

from ingest.job_states import TERMINAL_STATES
from spark_jobs.fold.mentions import Mention, by_rest, least_downtime, restore_words
from spark_jobs.fold.rows import Row, RowList, Rows
from spark_jobs.fold.snapshots import Types

COUNTER_LAG_MS = 60_000
"""The counter of restarts is a metric, which the JobManager fetches every ten seconds."""

SAME_FAILURE_MS, SWITCHED_WITHIN_MS = 2_000, 10_000
"""A failure is a little earlier than the job's change of state, by the same clock."""
LIVE_STATES = frozenset({"RUNNING", "RESTARTING", "CREATED", "INITIALIZING"})


def rest_mentions(jobs: RowList, types: Types, logged_restarts: Sequence[int]) -> list[Mention]:
    """``jobs``: one answer per instant, in order. ``logged_restarts``: epoch ms."""
    by_state = (mention for row in jobs for mention in _answer_mentions(row, types))
    return [*by_state, *_uncounted_restarts(jobs, logged_restarts), *_rescales(jobs)]


def _answer_mentions(row: Row, types: Types) -> Iterator[Mention]:
    if row["start_time"] is not None:
        detail = {"flink_version": row["flink_version"], "parallelism": row["parallelism"]}
        yield by_rest("deploy", "", row["start_time"], "submitted", detail, row)
    if row["restored_at"] is not None:
        word = "savepoint" if row["restored_is_savepoint"] else "checkpoint"
        subject, label, detail = restore_words(
            word, row["restored_checkpoint_id"], row["restored_path"], row["job_id"], types
        )
        yield by_rest("restore", subject, row["restored_at"], label, detail, row)
    # An answer has only the last time of each state.
    running_since = _entry_ms(row, "RUNNING")
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
        detail = least_downtime(since, running_at)
    return by_rest("restart", "", since, "restart", detail, row)


def _entry_ms(row: Row, state: str) -> int | None:
    return next(
        (entry["since"] for entry in row["state_since"] or () if entry["state"] == state), None
    )


def _uncounted_restarts(jobs: RowList, log_restarts: Sequence[int]) -> Iterator[Mention]:
    """Restarts that only the counter shows; Prometheus has no times of states."""
    counted = [row for row in jobs if row["restarts"] is not None]
    recreations = {row["observed_at"]: since for row, since in _new_graphs(jobs)}
    for before, row in pairwise(counted):
        until = row["observed_at"]
        instants = (
            _entry_ms(row, "RESTARTING"),
            *(at for observed_at, at in recreations.items() if observed_at <= until),
            *(at for at in log_restarts if at <= until),
        )
        is_dated = any(
            at is not None and at - before["observed_at"] > -COUNTER_LAG_MS for at in instants
        )
        if row["restarts"] > before["restarts"] and not is_dated:
            count = {"count": row["restarts"] - before["restarts"]}
            yield by_rest("restart", "", until, "restart", count, row)


def failed_restarts(
    jobs: RowList, failures: Rows, logged: Sequence[int], recreated: Sequence[int]
) -> Iterator[Mention]:
    """Restarts without a reported RESTARTING: the job lives after a failure, or is RUNNING again.
    ``logged``, ``recreated``: instants of restarts by the log, and of new graphs.
    """
    entered = {at for row in jobs if (at := _entry_ms(row, "RESTARTING")) is not None}
    known = sorted({*logged, *entered})
    as_of = {row["ts"]: row["as_of"] for row in failures if row["is_root"]}
    roots = sorted(as_of)
    for at, next_failure in pairwise([*roots, inf]):
        is_dated = any(
            at - SAME_FAILURE_MS <= instant_ms <= at + SWITCHED_WITHIN_MS for instant_ms in known
        )
        is_recreated = any(at <= instant_ms < next_failure for instant_ms in recreated)
        if not is_dated and not is_recreated and _survived(jobs, at):
            yield Mention("restart", "", at, False, "restart", None, as_of[at])
    instants = [*known, *roots, *recreated]
    for before, row in pairwise(row for row in jobs if _entry_ms(row, "RUNNING") is not None):
        earlier, since = _entry_ms(before, "RUNNING") or 0, _entry_ms(row, "RUNNING") or 0
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
    return bool(before["start_time"] == row["start_time"]) and _entry_ms(
        before, "CREATED"
    ) == _entry_ms(row, "CREATED")


def recreated_restarts(jobs: RowList) -> Iterator[Mention]:
    """Restarts of the adaptive scheduler: REST only has the time of the new graph."""
    for row, since in _new_graphs(jobs):
        yield _restart(row, since, _entry_ms(row, "RUNNING"))


def _new_graphs(jobs: RowList) -> Iterator[tuple[Row, int]]:
    for before, row in pairwise(row for row in jobs if _entry_ms(row, "CREATED") is not None):
        since = _entry_ms(row, "CREATED") or 0
        if row["start_time"] == before["start_time"] and since > (
            _entry_ms(before, "CREATED") or 0
        ):
            yield row, since


def _rescales(jobs: RowList) -> Iterator[Mention]:
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
