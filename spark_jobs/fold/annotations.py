"""What happened to a job, for its charts. Close mentions of one kind and subject in REST and log
are one annotation, dated by REST if possible.
"""

from collections.abc import Iterable, Iterator, Sequence

from ingest.messages import message
from spark_jobs.fold.log_mentions import log_mentions
from spark_jobs.fold.mentions import Mention
from spark_jobs.fold.rest_mentions import failed_restarts, recreated_restarts, rest_mentions
from spark_jobs.fold.rows import Row, Rows, floor_ms
from spark_jobs.fold.snapshots import NO_TYPES, Types

MOST_GAP_MS = {"deploy": 10_000}
"""On a busy machine, the Dispatcher logs a submission seconds before the JobManager dates it."""
OTHER_GAP_MS = 1_000


def annotations(
    jobs: Sequence[Row],
    facts: Rows,
    events: Sequence[Row],
    outages: Sequence[Row] = (),
    lost: Iterable[Mention] = (),
    types: Types = NO_TYPES,
    failures: Rows = (),
) -> list[Row]:
    """``job_annotation`` rows. ``jobs`` (REST, in order of time) and ``events`` have no duplicates."""
    logged = log_mentions(events, outages, types)
    recreated = list(recreated_restarts(jobs))
    restarted = [mention.at_ms for mention in logged if mention.kind == "restart"]
    failed = list(
        failed_restarts(jobs, failures, restarted, [recreation.at_ms for recreation in recreated])
    )
    restarted += [mention.at_ms for mention in failed]
    recreated = [mention for mention in recreated if not _is_logged(mention, logged, events)]
    mentions = [*rest_mentions(jobs, types, restarted), *failed, *recreated, *logged, *lost]
    return [
        *(_fold(close) for close in _close_together(mentions)),
        *(_savepoint(fact) for fact in facts if fact["is_savepoint"]),
    ]


def _is_logged(restart: Mention, logged: Iterable[Mention], events: Rows) -> bool:
    """Whether the log has a restart before this one, without RUNNING in between."""
    begun = max(
        (
            mention.at_ms
            for mention in logged
            if mention.kind == "restart" and mention.at_ms <= restart.at_ms
        ),
        default=None,
    )
    ran = (
        event["ts"]
        for event in events
        if event["kind"] == "job_state" and event["to_state"] == "RUNNING"
    )
    return begun is not None and not any(begun < at < restart.at_ms for at in ran)


def _close_together(mentions: Iterable[Mention]) -> Iterator[list[Mention]]:
    run: list[Mention] = []
    for mention in sorted(
        mentions, key=lambda mention: (mention.kind, mention.subject, *mention.place)
    ):
        if run and (
            (run[-1].kind, run[-1].subject) != (mention.kind, mention.subject)
            or mention.at_ms - run[-1].at_ms > MOST_GAP_MS.get(mention.kind, OTHER_GAP_MS)
        ):
            yield run
            run = []
        run.append(mention)
    if run:
        yield run


def _fold(mentions: Sequence[Mention]) -> Row:
    dated = min(mentions, key=lambda mention: (mention.by_log, mention.at_ms))
    worded = min(mentions, key=lambda mention: mention.words)
    return {
        "kind": dated.kind,
        "subject": dated.subject,
        "at": floor_ms(dated.at_ms, 1000),
        "label": worded.label,
        "detail": worded.detail,
        "as_of": max(mention.as_of for mention in mentions),
    }


def _savepoint(fact: Row) -> Row:
    number, outcome = str(fact["checkpoint_id"]), fact["outcome"]
    detail = {
        name: fact[name] for name in ("checkpoint_id", "outcome", "end_to_end_ms", "state_bytes")
    } | {"path": fact["external_path"]}
    return {
        "kind": "savepoint",
        "subject": number,
        "at": fact["trigger_time"],
        "label": message("savepoint {number:name}", number=number)
        + ("" if outcome == "completed" else " " + outcome.replace("_", " ")),
        "detail": detail,
        "as_of": fact["as_of"],
    }
