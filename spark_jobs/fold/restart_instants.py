"""Instants of restarts. They are remembered longer than log lines: if a job restarts every two
seconds, an episode would lose its beginning.
"""

from collections.abc import Sequence

from spark_jobs.diagnosis.restart_episodes import chain_begin, with_others
from spark_jobs.diagnosis.window_contents import Span
from spark_jobs.fold.rows import Rows

RESTARTS_KEPT = 2_000
FIRST_WITHIN_MS = 5_000


def restart_instants(before: Sequence[int], events: Rows, annotated: Rows = ()) -> list[int]:
    logged = [
        event["ts"]
        for event in events
        if event["kind"] == "job_state" and event["to_state"] == "RESTARTING"
    ]
    # Remembered instants are from log lines, or from annotations if the log was not read then.
    unread = set(logged).difference(before)
    exact = {*logged, *(at for at in before if not unread or at in with_others(unread, [at]))}
    marks = (annotation["at"] for annotation in annotated if annotation["kind"] == "restart")
    return with_others(exact, marks)[-RESTARTS_KEPT:]


def first_of_chain(restarts: Sequence[int]) -> Span | None:
    if not restarts:
        return None
    begin_ms = chain_begin(restarts)
    return begin_ms - FIRST_WITHIN_MS, begin_ms + FIRST_WITHIN_MS
