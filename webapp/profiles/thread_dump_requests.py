"""Requests of thread dumps, which the next collect cycle takes and Weir stores."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from itertools import islice

from django.db import IntegrityError, transaction
from django.db.models import Q

from ingest.flink_rest.payloads.thread_dump import Thread
from ingest.flink_rest.thread_dumps import DUMPS_PER_CYCLE, ThreadDumpAnswer
from ingest.redaction.texts import redact
from spark_jobs.diagnosis.thread_dumps import (
    DumpedThread,
    deadlock_sentence,
    deadlocks,
    in_a_row,
    own_method,
    place_of,
    task_of,
)
from webapp.profiles.models import ThreadDump
from webapp.profiles.models import ThreadDumpState as State

GIVE_UP_AFTER = timedelta(hours=1)
"""When a cluster is collected again later, nobody waits for its dumps."""
MOST_DUE = 500
NOT_BEFORE = timedelta(seconds=20)
"""Least time since an answer: a dump stops all threads of the TaskManager for an instant."""
RETRY_AFTER, MOST_TRIES = timedelta(seconds=30), 3
COMPARABLE_WITHIN = timedelta(minutes=15)
"""Dumps further apart do not show that a thread stayed at a place."""
MOST_THREADS, MOST_FRAMES = 600, 100
MOST_AT_ONCE = 20
"""Of TaskManagers: each stops for its dump."""


def request_dump(cluster: str, taskmanager_id: str, now: datetime) -> bool:
    """Request a dump; False if one is requested, or was answered less than ``NOT_BEFORE`` ago."""
    rows = ThreadDump.objects
    key = {"cluster": cluster, "taskmanager_id": taskmanager_id}
    request = {"wanted_at": now, "ask_at": now, "asked": 0}
    # Instants in the future were written by a clock that was set back since.
    is_over = Q(wanted_at__lte=now - GIVE_UP_AFTER) | Q(wanted_at__gt=now + NOT_BEFORE)
    settled = rows.filter(Q(ask_at=None) | is_over, **key)
    near_now = (now - NOT_BEFORE, now + NOT_BEFORE)
    if settled.exclude(answered_at__range=near_now).update(**request):
        return True
    try:
        with transaction.atomic():
            _row, is_created = rows.get_or_create(**key, defaults=request)
    except IntegrityError:  # another request created the row meanwhile
        return False
    return is_created


def request_dumps(cluster: str, taskmanager_ids: Iterable[str], now: datetime) -> int:
    """Request dumps of the first ``MOST_AT_ONCE``; returns how many were not requested before."""
    return sum(
        request_dump(cluster, taskmanager_id, now)
        for taskmanager_id in islice(taskmanager_ids, MOST_AT_ONCE)
    )


def wanted_of(clusters: Iterable[str], now: datetime) -> dict[str, tuple[str, ...]]:
    """Due TaskManagers by cluster, the longest waiting first."""
    waiting = ThreadDump.objects.filter(
        cluster__in=list(clusters), ask_at__lte=now, wanted_at__gt=now - GIVE_UP_AFTER
    ).order_by("ask_at", "pk")
    due: dict[str, tuple[str, ...]] = {}
    for cluster, taskmanager_id in waiting.values_list("cluster", "taskmanager_id")[:MOST_DUE]:
        of_cluster = due.get(cluster, ())
        if len(of_cluster) < DUMPS_PER_CYCLE:
            due[cluster] = (*of_cluster, taskmanager_id)
    return due


def keep(cluster: str, answers: Sequence[ThreadDumpAnswer]) -> None:
    for answer in answers:
        row = ThreadDump.objects.filter(
            cluster=cluster, taskmanager_id=answer.taskmanager_id
        ).first()
        if row is not None:
            ThreadDump.objects.filter(pk=row.pk).update(**_answer_fields(answer, row))


def _answer_fields(answer: ThreadDumpAnswer, row: ThreadDump) -> dict[str, object]:
    tries = row.asked + 1
    values: dict[str, object] = {
        "asked": tries,
        "ask_at": None,
        "answered_at": answer.at,
        "note": redact(answer.error),
    }
    if answer.threads is None:
        retry = {"ask_at": answer.at + RETRY_AFTER} if tries < MOST_TRIES else {}
        return values | {"state": State.FAILED} | retry
    is_comparable = row.taken_at is not None and answer.at - row.taken_at <= COMPARABLE_WITHIN
    previous_places = (
        {thread["name"]: (thread["place"], thread["in_a_row"]) for thread in row.threads}
        if is_comparable
        else {}
    )
    threads = [safe_thread(thread) for thread in answer.threads]
    stored = sorted(threads, key=_importance)[:MOST_THREADS]
    return values | {
        "state": State.TAKEN,
        "taken_at": answer.at,
        "threads": [
            asdict(thread)
            | {"place": place_of(thread), "in_a_row": in_a_row(thread, previous_places)}
            for thread in stored
        ],
        "threads_left_out": len(threads) - len(stored),
        "deadlocks": [deadlock_sentence(circle) for circle in deadlocks(threads)][:10],
    }


def safe_thread(thread: Thread) -> DumpedThread:
    """Redact and shorten: users' code chooses the names of threads."""
    return replace(
        DumpedThread(**asdict(thread)),
        name=redact(thread.name),
        owner=redact(thread.owner),
        frames=tuple(redact(frame) for frame in thread.frames[:MOST_FRAMES]),
        is_cut=thread.is_cut or len(thread.frames) > MOST_FRAMES,
    )


def _importance(thread: DumpedThread) -> tuple[bool, bool, bool, str]:
    return (
        task_of(thread.name) is None,
        own_method(thread) is None,
        thread.state != "BLOCKED",
        thread.name,
    )
