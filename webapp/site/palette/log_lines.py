"""A pasted log line or exception: what Weir reads in it, of which job and checkpoint it is, and
which rules judge such lines.
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext

from ingest.flink_logs.event_parser import event_of
from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.files import records_of
from ingest.flink_logs.reasons import failure_cause_of, reason_of
from ingest.records import LogRecord
from spark_jobs.diagnosis.registry import all_rules
from spark_jobs.diagnosis.samples import rule_kind
from webapp.checkpoints.reasons import in_words
from webapp.fleet.models import JobCurrent
from webapp.lib.filters import words
from webapp.lib.messages.rendering import localised
from webapp.site.palette.hits import MOST_OF_GROUP, Group, Hit
from webapp.site.palette.hosts import host_address

SHORTEST = 20
"""Shorter texts are names."""
EXCEPTION = re.compile(r"(?<![\w$.])(?:[a-z][\w$]*+\.)++[A-Z][\w$]*(?:Exception|Error)\b")
_MISSING_FILE = re.compile(
    r"(?:FileNotFoundException|NoSuchFileException|File does not exist)[:\s]+(?P<path>[^\s]+)"
)


def log_lines(text: str) -> Iterator[Group]:
    """At most one query. Nothing for what is no line of a log and names no exception."""
    if len(text) < SHORTEST:
        return
    event = _event(text)
    refused = reason_of(text)
    reason = (
        (event.reason if event else None)
        or (refused.code if refused else None)
        or failure_cause_of(text)
    )
    hits = [*_of_job(event), *_rules(event), *_missing_file(text)]
    note = _note(event, reason, text)
    if note:
        yield Group(
            gettext("Log line") if event else gettext("Exception"), hits[: 2 * MOST_OF_GROUP], note
        )


def _event(text: str) -> LogEvent | None:
    """Of the first record that is known; a message without the header of its layout is taken as
    one, too.
    """
    records = records_of(text.encode() + b"\n", file="pasted.log")
    bare = LogRecord("pasted", datetime.now(UTC), "INFO", "", text.strip(), "", 0, "pasted.log", 0)
    return next((event for record in (*records, bare) if (event := event_of(record))), None)


def _note(event: LogEvent | None, reason: str | None, text: str) -> str:
    parts = []
    if event:
        about = [words(event.kind)]
        about += (
            [gettext("checkpoint %(checkpoint_id)s") % {"checkpoint_id": event.checkpoint_id}]
            if event.checkpoint_id is not None
            else []
        )
        about += (
            [gettext("subtask %(subtask)s") % {"subtask": event.subtask}]
            if event.subtask is not None
            else []
        )
        about += [gettext("on %(host)s") % {"host": event.host}] if event.host else []
        parts.append(gettext("Weir reads this as: %(about)s.") % {"about": ", ".join(about)})
    named = EXCEPTION.findall(text)
    if not event and not named and not reason:
        return ""
    if named:
        parts.append(gettext("Innermost exception: %(named)s.") % {"named": named[-1]})
    known = in_words(reason, None)
    return " ".join(
        [
            *parts,
            *(
                [known]
                if known
                else [gettext("Known as %(reason)s.") % {"reason": reason}]
                if reason
                else []
            ),
        ]
    )


def _of_job(event: LogEvent | None) -> Iterator[Hit]:
    if event is None or not event.job_id:
        return
    for job in (
        JobCurrent.objects.filter(job_id=event.job_id)
        .only("cluster", "job_id", "name")
        .order_by("cluster")[:MOST_OF_GROUP]
    ):
        if event.checkpoint_id is not None:
            address = reverse(
                "checkpoint-by-id", args=[job.cluster, job.job_id, event.checkpoint_id]
            )
            yield Hit(
                gettext("%(job_id)s, checkpoint %(checkpoint_id)s")
                % {"job_id": job.name or job.job_id, "checkpoint_id": event.checkpoint_id},
                address,
                job.cluster,
            )
        events = f"{reverse('job', args=[job.cluster, job.job_id])}?kind={event.kind}#events"
        yield Hit(
            gettext("%(job_id)s, such lines") % {"job_id": job.name or job.job_id},
            events,
            job.cluster,
        )
        if event.host:
            yield Hit(
                event.host,
                host_address(event.host, job.cluster),
                gettext("host · %(cluster)s") % {"cluster": job.cluster},
            )


def _rules(event: LogEvent | None) -> Iterator[Hit]:
    if event is None:
        return
    kind = rule_kind(event.kind, event.to_state)
    for rule in all_rules().values():
        # What a checkpoint became, rules read off its row, which has what lines reported: of expired
        # ones, ``checkpoint.expired``.
        if kind in rule.reads or rule.id == event.kind.replace("_", ".", 1):
            yield Hit(
                localised(rule.title),
                reverse("rule", args=[rule.id]),
                gettext("%(id)s judges this") % {"id": rule.id},
            )


def _missing_file(text: str) -> Iterator[Hit]:
    match = _MISSING_FILE.search(text)
    if match:
        yield Hit(
            gettext("Who wrote, needed and removed the file"),
            f"{reverse('missing-file')}?{urlencode({'path': match['path']})}",
            gettext("triage of a missing file"),
        )
