"""Lives of a cluster's TaskManagers. A log line about an end is certain: the first gives its time,
the most specific its cause. A stack trace is a suspicion: it counts if no heartbeat followed, or
the TaskManager is no longer listed.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from ingest.job_states import TERMINAL_STATES
from ingest.messages import message
from spark_jobs.diagnosis.failure_causes.table import cause_of
from spark_jobs.diagnosis.pods import ENDED as POD_ENDED
from spark_jobs.diagnosis.root_exceptions import lost_taskmanager
from spark_jobs.diagnosis.window_contents import TASKMANAGER_LOST
from spark_jobs.fold.mentions import Mention, by_log
from spark_jobs.fold.rows import Row, RowList, Rows, grouped, largest, least, rank
from spark_jobs.serving import TASKMANAGER_LIFE, TASKMANAGER_LOSSES

REGISTERED, FAILED = "tm_registered", "task_state"
KINDS_OF_END = ("tm_heartbeat_timeout", "tm_unreachable", "tm_disconnected", POD_ENDED)
NOTICED_WITHIN_MS = 300_000
"""Lines within this time are about one loss, and a loss concerns a job whose task left within this
time: heartbeat.timeout is 50 s, or set to some minutes.
"""
ALIVE_AFTER_MS = 10_000
"""A heartbeat more than this (one interval) after a suspected end disproves it."""
CONFIRMED_AFTER_MS = 30_000
"""Three missing heartbeats confirm a suspected end of a TaskManager that is still listed."""
UNLISTED_AFTER_MS = 300_000
"""A TaskManager is unlisted if it has had no sample for this long and others of its cluster had."""
LINGERS_MS = 2_000
"""A sample this short after the end was in progress when the end was noticed."""
REASON_CHARS = NAME_CHARS = 300
LIVES_KEPT, JOBS_KEPT = 2_000, 100
KEPT_MS = 7 * 86_400_000
"""Executions are remembered as long."""

WORDS: Mapping[str, str] = {
    "oom_killed": message("killed for memory"),
    "evicted": message("evicted"),
    "exited": message("its process ended"),
    "shut_down": message("it shut down"),
    "container_lost": message("its container was lost"),
    "heartbeat_timeout": message("heartbeat timed out"),
    "unreachable": message("no longer reachable"),
    "released": message("released, since it was idle"),
    "unlisted": message("no longer listed"),
}
"""How a life ended, the most specific first."""
_CERTAINTY = {code: place for place, code in enumerate(WORDS)} | {"unreachable": 5}

_BY_REASON = (
    ("released", r"idle timeout"),
    ("oom_killed", r"OOM|OutOfMemory|beyond \S*\s*(?:physical|virtual) memory"),
    ("evicted", r"evict|preempt|DisruptionTarget"),
    ("heartbeat_timeout", r"timed out"),
    ("unreachable", r"no longer reachable"),
    ("exited", r"exit(?:ed| ?code)"),
    ("shut_down", r"shutting down"),
    ("container_lost", r"terminated|killed|lost"),
)
"""Patterns in reasons for a closed connection, which ResourceManagers take over from YARN or
Kubernetes. A JobMaster also closes connections when its job ends.
"""
_REASONS = [(code, re.compile(pattern, re.IGNORECASE)) for code, pattern in _BY_REASON]
_JOB_ENDED = re.compile(r"Stopping JobMaster")
_EXIT_CODE = re.compile(r"exit(?:ed with)?\s*code\s*(?:is|[=:])?\s*(-?\d{1,5})", re.IGNORECASE)
_HOST_OF_PATH = re.compile(r"@(.+):\d+/")
_RESOURCE_ID = re.compile(r"(.+):[0-9]+-[0-9a-f]+")
"""Id of a standalone TaskManager: host, port and six random digits."""
_SAMPLE_COLUMNS = (
    "slots",
    "process_memory_bytes",
    "heap_max_bytes",
    "managed_memory_bytes",
    "network_memory_bytes",
)
_NEW_LIFE: Row = dict.fromkeys(
    (
        *(name for name in TASKMANAGER_LIFE.column_names if name != "cluster"),
        "lost_at",
        "lost_by",
        "suspected_at",
        "seen_at",
        "sampled_at",
        "slot_jobs",
        "informed_jobs",
        "pod_end",
    )
)
"""``lost_at``, ``lost_by``: the end by log lines. ``seen_at``: newest heartbeat; ``sampled_at``:
newest sample. ``slot_jobs``: jobs that had slots there, and when last. ``informed_jobs``: jobs that
got the present end as a loss. ``pod_end``: how its pod ended, which explains a loss that others
notice.
"""


class _Sign(NamedTuple):
    """``kind``: ended, suspected, registered or seen, which is the order in a tie."""

    at: int
    kind: int
    taskmanager_id: str
    observed_at: int
    row: Row


_ENDED, _SUSPECTED, _REGISTERED, _SEEN = range(4)


def lives(
    previous: Rows, lines: Rows, samples: Rows, exceptions: Rows, executions: Rows
) -> list[Row]:
    """``UPDATED_LIFE`` rows. ``previous``: the last result. ``lines``: registrations, ends and
    failed tasks.
    """
    by_id: dict[str, list[Row]] = {}
    for row in sorted(previous, key=itemgetter("taskmanager_id", "life")):
        by_id.setdefault(row["taskmanager_id"], []).append({**_NEW_LIFE, **row})
    previous_lives = {(row["taskmanager_id"], row["life"]): row for row in previous}
    signs = [*_line_signs(lines), *_sample_signs(samples), *_exception_signs(exceptions)]
    for sign in sorted(signs, key=lambda sign: ("address" in sign.row, *sign[:4], rank(sign.row))):
        if "address" in sign.row:
            _explain(by_id, sign)
        else:
            _APPLY[sign.kind](by_id.setdefault(sign.taskmanager_id, []), sign)
    sampled_at = largest(*(life["sampled_at"] for id_lives in by_id.values() for life in id_lives))
    perhaps_lost = {
        name
        for name, id_lives in by_id.items()
        if any(life["lost_at"] is not None or life["suspected_at"] is not None for life in id_lives)
    }
    stays = _stays(executions, perhaps_lost)
    all_lives = []
    for name, id_lives in by_id.items():
        first = id_lives[0]["life"] or 0 if id_lives else 0
        for index, life in enumerate(id_lives):
            life["life"] = first + index
            previous_end = id_lives[index - 1]["ended_at"] or 0 if index else 0
            previous_life = previous_lives.get((name, life["life"]))
            _end(life, previous_life, sampled_at)
            _inform(life, previous_life, stays.get(name, ()), previous_end)
            all_lives.append(life)
    return _retain_newest(all_lives)


def reason_of(loss: Row) -> str:
    return str(loss["detail"] or WORDS[loss["ended_by"]])


def lost_mentions(losses: Rows) -> Iterator[Mention]:
    for loss in losses:
        name = loss["taskmanager_id"]
        detail = {"taskmanager_id": name, "reason": reason_of(loss), "ended_by": loss["ended_by"]}
        if loss["exit_code"] is not None:
            detail["exit_code"] = loss["exit_code"]
        yield by_log(
            TASKMANAGER_LOST,
            name,
            message("TaskManager {name:name} lost", name=str(name)),
            detail,
            loss,
        )


def losses_of_job(losses: Rows, states: Sequence[tuple[int, str]]) -> list[Row]:
    instants = [since_ms for since_ms, _ in states]

    def had_ended(at_ms: int) -> bool:
        place = bisect_right(instants, at_ms)
        return place > 0 and states[place - 1][1] in TERMINAL_STATES

    return [loss for loss in losses if not had_ended(loss["ts"])]


def end_of(line: Row) -> tuple[str, int | None, str | None] | None:
    """(code, exit code, logged reason) of a TaskManager's end, or None."""
    if line["kind"] == "tm_heartbeat_timeout":
        return "heartbeat_timeout", None, None
    if line["kind"] == "tm_unreachable":
        return "unreachable", None, None
    reason = line["reason_text"] or ""
    # The name of a pod's node, which comes first, may contain "preemptible".
    words = reason.partition(": ")[2] if line["kind"] == POD_ENDED else reason
    code = next((code for code, pattern in _REASONS if pattern.search(words)), None)
    if code is None and cause_of(reason) is not None:
        code = "container_lost"
    if code is None or _JOB_ENDED.search(reason):
        return None
    number = _EXIT_CODE.search(reason)
    return code, int(number[1]) if number else None, reason[:REASON_CHARS]


def host_of_taskmanager(taskmanager_id: str) -> str:
    """The host in a standalone TaskManager's id, else the id of pod or container."""
    match = _RESOURCE_ID.fullmatch(taskmanager_id)
    return (match[1] if match else taskmanager_id)[:NAME_CHARS]


def _line_signs(lines: Rows) -> Iterator[_Sign]:
    for line in lines:
        if line["kind"] == FAILED:
            if name := _lost_id(line["detail"], line["container"]):
                yield _sign(line, _SUSPECTED, name)
        elif line["kind"] == REGISTERED:
            host = _HOST_OF_PATH.search(line["path"] or "")
            yield _sign(line, _REGISTERED, line["container"], host=host and host[1])
        elif end := end_of(line):
            code, number, detail = end
            of_pod = {"address": line["host"]} if line["kind"] == POD_ENDED else {}
            values = {"ended_by": code, "exit_code": number, "detail": detail} | of_pod
            yield _sign(line, _ENDED, line["container"], **values)


def _exception_signs(exceptions: Rows) -> Iterator[_Sign]:
    for row in exceptions:
        if name := _lost_id(row["stacktrace"], row["taskmanager_id"]):
            yield _sign(row, _SUSPECTED, name)


def _lost_id(trace: str | None, ran_on: str | None) -> str | None:
    name = lost_taskmanager(trace)
    if name is None and "RecipientUnreachable" in (trace or "").partition("\n")[0]:
        name = ran_on
    return name if name and "/" not in name else None


def _sample_signs(samples: Rows) -> Iterator[_Sign]:
    for row in samples:
        if row["ts"] is not None:
            jobs = dict.fromkeys(slot["job_id"] for slot in row["allocated_slots"] or ())
            values = {name: row[name] for name in ("host", *_SAMPLE_COLUMNS)}
            # ``last_heartbeat`` is 0 before the first heartbeat.
            heartbeat = row["last_heartbeat"] or row["ts"]
            sign = _sign(row, _SEEN, row["taskmanager_id"], sampled_at=row["ts"], jobs=jobs)
            yield sign._replace(at=min(heartbeat, row["ts"]), row={**sign.row, **values})


def _sign(row: Row, kind: int, name: str, **values: Any) -> _Sign:
    return _Sign(row["ts"], kind, name[:NAME_CHARS], row["observed_at"], values)


def _see(lives: list[Row], sign: _Sign) -> None:
    place = _place(lives, sign.at)
    if place is None:
        lives[:] = lives or [_life(sign)]
        life = lives[0]
    else:
        life = lives[place]
        if life["lost_at"] is not None and sign.at > life["lost_at"]:
            if sign.kind == _SEEN and sign.at <= life["lost_at"] + LINGERS_MS:
                return
            if place + 1 == len(lives):
                lives.append(_life(sign))
            life = lives[place + 1]
    life["born_at"] = least(life["born_at"], sign.at)
    life["as_of"] = largest(life["as_of"], sign.observed_at)
    life["host"] = life["host"] or sign.row["host"]
    if sign.kind == _REGISTERED:
        life["host"] = sign.row["host"] or life["host"]
        return
    life["seen_at"] = largest(life["seen_at"], sign.at)
    if life["suspected_at"] is not None and life["seen_at"] > (
        life["suspected_at"] + ALIVE_AFTER_MS
    ):
        life["suspected_at"] = None
    if (life["sampled_at"] or 0) <= sign.row["sampled_at"]:
        life["sampled_at"] = sign.row["sampled_at"]
        known = {name: sign.row[name] for name in _SAMPLE_COLUMNS if sign.row[name] is not None}
        life |= known | {"host": sign.row["host"] or life["host"]}
    slots = {entry["job_id"]: entry["at"] for entry in life["slot_jobs"] or ()}
    for job_id in sign.row["jobs"]:
        slots[job_id] = largest(slots.get(job_id), sign.row["sampled_at"])
    newest = sorted(slots.items(), key=lambda pair: (-pair[1], pair[0]))[:JOBS_KEPT]
    life["slot_jobs"] = [{"job_id": job_id, "at": at} for job_id, at in newest]


def _suspect(lives: list[Row], sign: _Sign) -> None:
    place = _place(lives, sign.at)
    if place is None:
        if lives:
            return
        lives.append(_life(sign) | {"suspected_at": sign.at})
        place = 0
    life = lives[place]
    if life["lost_at"] is not None or (life["seen_at"] or 0) > sign.at + ALIVE_AFTER_MS:
        return
    life["suspected_at"] = least(life["suspected_at"], sign.at)
    life["as_of"] = largest(life["as_of"], sign.observed_at)


def _lose(lives: list[Row], sign: _Sign) -> None:
    place = _place(lives, sign.at)
    if place is None:
        # The first known life may end with this loss, which another process noticed later.
        next_life = (
            lives[0] if lives and lives[0]["born_at"] is None and lives[0]["lost_at"] else None
        )
        if next_life is None or next_life["lost_at"] - sign.at > NOTICED_WITHIN_MS:
            lives.insert(0, _life(sign))
        place = 0
    life = lives[place]
    lost_at = life["lost_at"]
    if lost_at is not None and sign.at - lost_at > NOTICED_WITHIN_MS:
        life = _life(sign)
        lives.insert(place + 1, life)
    elif (
        (life["seen_at"] or 0) > sign.at + LINGERS_MS
        if lost_at is None
        else lost_at - sign.at > NOTICED_WITHIN_MS
    ):
        # The TaskManager came back after the loss: the known life is split.
        came_back = life["seen_at"] if (life["seen_at"] or 0) > sign.at else None
        lives.insert(place + 1, {**life, "born_at": came_back, "informed_jobs": None})
        life |= _life(sign) | {name: life[name] for name in ("born_at", "host", *_SAMPLE_COLUMNS)}
        life |= {"seen_at": sign.at, "slot_jobs": lives[place + 1]["slot_jobs"]}
    if life["lost_at"] is None or (
        (_CERTAINTY[sign.row["ended_by"]], sign.at) < (_CERTAINTY[life["lost_by"]], life["lost_at"])
    ):
        life |= {"lost_by": sign.row["ended_by"]} | {
            name: sign.row[name] for name in ("exit_code", "detail")
        }
    life["lost_at"] = least(life["lost_at"], sign.at)
    life["as_of"] = largest(life["as_of"], sign.observed_at)


def _explain(by_id: Mapping[str, list[Row]], sign: _Sign) -> None:
    """Keeps how a pod ended, for the loss of its TaskManager. Native mode names a TaskManager by
    its pod, standalone mode by the pod's address.
    """
    lives = by_id.get(sign.taskmanager_id)
    if lives is None:
        address = sign.row["address"]
        at_address = [
            of_name
            for name, of_name in by_id.items()
            if (match := _RESOURCE_ID.fullmatch(name)) is not None
            and match[1] == address
            and _place(of_name, sign.at) is not None
        ]
        lives = max(at_address, key=lambda of_name: of_name[-1]["seen_at"] or 0, default=None)
    if lives:
        lives[_place(lives, sign.at) or 0]["pod_end"] = {
            "at": sign.at,
            **{name: sign.row[name] for name in ("ended_by", "exit_code", "detail")},
        }


_APPLY = {_ENDED: _lose, _SUSPECTED: _suspect, _REGISTERED: _see, _SEEN: _see}


def _life(sign: _Sign) -> Row:
    return _NEW_LIFE | {"taskmanager_id": sign.taskmanager_id, "as_of": sign.observed_at}


def _place(lives: RowList, at_ms: int) -> int | None:
    begun = [
        place
        for place, life in enumerate(lives)
        if least(life["born_at"], life["lost_at"], life["suspected_at"]) <= at_ms
    ]
    return begun[-1] if begun else None


def _end(life: Row, before: Row | None, sampled_at: int | None) -> None:
    ended_at, ended_by = life["lost_at"], life["lost_by"]
    suspected_at, newest = life["suspected_at"], sampled_at or 0
    if ended_at is None:
        is_listed = newest - (life["sampled_at"] or 0) <= LINGERS_MS
        after_ms = CONFIRMED_AFTER_MS if is_listed else ALIVE_AFTER_MS
        if suspected_at is not None and newest >= suspected_at + after_ms:
            ended_at, ended_by = suspected_at, "unreachable"
        elif newest - (life["sampled_at"] or newest) > UNLISTED_AFTER_MS:
            ended_at, ended_by = life["seen_at"], "unlisted"
    pod = life["pod_end"]
    if (
        ended_at is not None
        and pod is not None
        # The loss is noticed after the end of the pod; a pod that is gone is noticed at any time.
        and ended_at - pod["at"] <= NOTICED_WITHIN_MS
        and _CERTAINTY[pod["ended_by"]] <= _CERTAINTY[ended_by]
    ):
        ended_by = pod["ended_by"]
        life |= {name: pod[name] for name in ("exit_code", "detail")}
    if ended_at is not None and before is not None and life["informed_jobs"]:
        ended_at = before["ended_at"] or ended_at
    seen_at = life["seen_at"] if ended_at is None else least(life["seen_at"], ended_at)
    if seen_at is not None and ended_at is None:
        # Rounded, so that not every sample of a TaskManager changes its row.
        seen_at = max(seen_at // UNLISTED_AFTER_MS * UNLISTED_AFTER_MS, life["born_at"])
    life |= {"ended_at": ended_at, "ended_by": ended_by, "last_seen_at": seen_at}
    life["host"] = life["host"] or host_of_taskmanager(life["taskmanager_id"])


def _stays(executions: Rows, names: set[str]) -> dict[str, list[tuple[str, int, int]]]:
    """TaskManager → (job, deployment of a subtask there, its next deployment), in epoch ms."""
    stays: dict[str, list[tuple[str, int, int]]] = {}
    deployed = (
        row
        for row in (executions if names else ())
        if row["job_id"] is not None and row["deployed_at"] is not None
    )
    for attempts in grouped(deployed, "job_id", "vertex_id", "task", "subtask").values():
        in_order = sorted(attempts, key=itemgetter("deployed_at", "execution_id"))
        ends = [*(row["deployed_at"] for row in in_order[1:]), _NEVER]
        for row, left_at in zip(in_order, ends, strict=True):
            if row["container"] in names:
                stays.setdefault(row["container"], []).append(
                    (row["job_id"], row["deployed_at"], left_at)
                )
    return stays


_NEVER = 2**62


def _inform(
    life: Row, before: Row | None, stays: Iterable[tuple[str, int, int]], previous_end: int
) -> None:
    served = [name for name in TASKMANAGER_LIFE.column_names if name not in ("cluster", "as_of")]
    changed = before is None or any(life[name] != before[name] for name in served)
    at, to_inform = life["ended_at"], set[str]()
    if life["ended_by"] in TASKMANAGER_LOSSES:
        to_inform |= {
            job_id
            for job_id, since, left_at in stays
            if previous_end < since <= at <= left_at + NOTICED_WITHIN_MS
        }
        slots = life["slot_jobs"] or ()
        to_inform |= {slot["job_id"] for slot in slots if at - slot["at"] <= NOTICED_WITHIN_MS}
        informed = set(life["informed_jobs"] or ())
        ending = ("ended_at", "ended_by", "exit_code", "detail", "host")
        if before is None or any(life[name] != before[name] for name in ending):
            to_inform |= informed
        else:
            to_inform -= informed
        life["informed_jobs"] = sorted(informed | to_inform)
    life |= {"changed": changed, "to_inform": sorted(to_inform)}


def _retain_newest(lives: list[Row]) -> list[Row]:

    def newest(life: Row) -> int:
        return int(largest(life["ended_at"], life["seen_at"], life["born_at"]) or 0)

    since = max(map(newest, lives), default=0) - KEPT_MS
    lives.sort(key=lambda life: (-newest(life), life["taskmanager_id"], life["life"]))
    return [life for life in lives[:LIVES_KEPT] if newest(life) >= since]
