"""What happened to a job, for its charts. Close mentions of one kind and subject in REST and log
are one annotation, dated by REST if possible.
"""

from collections.abc import Iterable, Iterator, Sequence

from ingest.messages import message
from spark_jobs.fold.log_mentions import log_mentions
from spark_jobs.fold.mentions import Mention
from spark_jobs.fold.rest_mentions import failed_restarts, recreated_restarts, rest_mentions
from spark_jobs.fold.rows import Row, RowList, Rows, floor_ms
from spark_jobs.fold.snapshots import NO_TYPES, Types

MOST_GAP_MS = {"deploy": 10_000}
"""On a busy machine, the Dispatcher logs a submission seconds before the JobManager dates it."""
OTHER_GAP_MS = 1_000


def annotations(
    jobs: RowList,
    facts: Rows,
    events: RowList,
    outages: RowList = (),
    lost: Iterable[Mention] = (),
    types: Types = NO_TYPES,
    failures: Rows = (),
) -> list[Row]:
    """``job_annotation`` rows. ``jobs`` (REST, in order of time) and ``events`` have no duplicates.
    ``lost``: of TaskManagers.
    """
    in_log = log_mentions(events, outages, types)
    recreations = list(recreated_restarts(jobs))
    restarts_ms = [mention.at_ms for mention in in_log if mention.kind == "restart"]
    failed = list(
        failed_restarts(
            jobs, failures, restarts_ms, [recreation.at_ms for recreation in recreations]
        )
    )
    restarts_ms += [mention.at_ms for mention in failed]
    recreations = [mention for mention in recreations if not _is_logged(mention, in_log, events)]
    mentions = [*rest_mentions(jobs, types, restarts_ms), *failed, *recreations, *in_log, *lost]
    return [
        *(_merge(group) for group in _group_close(mentions)),
        *(_savepoint(fact) for fact in facts if fact["is_savepoint"]),
    ]


def _is_logged(restart: Mention, in_log: Iterable[Mention], events: Rows) -> bool:
    """Whether the log has a restart before ``restart``, without RUNNING in between."""
    begun_ms = max(
        (
            mention.at_ms
            for mention in in_log
            if mention.kind == "restart" and mention.at_ms <= restart.at_ms
        ),
        default=None,
    )
    running_ms = (
        event["ts"]
        for event in events
        if event["kind"] == "job_state" and event["to_state"] == "RUNNING"
    )
    return begun_ms is not None and not any(begun_ms < at < restart.at_ms for at in running_ms)


def _group_close(mentions: Iterable[Mention]) -> Iterator[list[Mention]]:
    group: list[Mention] = []
    for mention in sorted(
        mentions, key=lambda mention: (mention.kind, mention.subject, *mention.time_order)
    ):
        if group and (
            (group[-1].kind, group[-1].subject) != (mention.kind, mention.subject)
            or mention.at_ms - group[-1].at_ms > MOST_GAP_MS.get(mention.kind, OTHER_GAP_MS)
        ):
            yield group
            group = []
        group.append(mention)
    if group:
        yield group


def _merge(mentions: Sequence[Mention]) -> Row:
    date_source = min(mentions, key=lambda mention: (mention.by_log, mention.at_ms))
    text_source = min(mentions, key=lambda mention: mention.words)
    return {
        "kind": date_source.kind,
        "subject": date_source.subject,
        "at": floor_ms(date_source.at_ms, 1000),
        "label": text_source.label,
        "detail": text_source.detail,
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
