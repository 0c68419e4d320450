"""Pods of a cluster's TaskManagers, as an API server lists them, as records of a log."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ingest.cluster_run import ClusterRun
from ingest.discovery.pods import Pod
from ingest.event_records import MAX_AHEAD_MS, digest, log_record, read_of
from ingest.json_members import as_list
from ingest.records import LogRecord
from ingest.source_read import SourceRead

SOURCE = "pods"
PROCESS, LOGGER = "kubernetes", "kubernetes.pods"
MAX_AGE_MS = 86_400_000
"""The last end of a container is listed until it ends again."""


def read_pods(run: ClusterRun) -> SourceRead:
    at = run.shard.at()
    records, cursor = new_records(run.cluster.pods, run.cursor_of(SOURCE), at)
    return read_of(run, SOURCE, at, records, cursor)


def new_records(
    pods: Sequence[Pod], cursor: Mapping[str, Any], at: datetime
) -> tuple[tuple[LogRecord, ...], dict[str, Any]]:
    """Records of what was not reported at the last reading, and the next cursor."""
    reported = {text for text in as_list(cursor.get("reported")) if isinstance(text, str)}
    now_ms = at.timestamp() * 1000
    records, keys = [], []
    for pod in (pod for pod in pods if pod.component == "taskmanager"):
        for verb, at_ms, reason in _changes(pod):
            if at_ms is None or not now_ms - MAX_AGE_MS <= at_ms <= now_ms + MAX_AHEAD_MS:
                continue
            # Without the reason: schedulers and image pulls word the same wait in several ways.
            key = digest(f"{at_ms} {pod.name} {verb} {pod.job_id}")[:12]
            keys.append(key)
            if key not in reported:
                records.append(_record(pod, verb, at_ms, reason))
    return tuple(records), {"reported": keys}


def _changes(pod: Pod) -> Iterator[tuple[str, int | None, str]]:
    """Verb, epoch ms and reason of each line."""
    node = f"on node {pod.node or 'unknown'}"
    ended_ms = pod.ended_ms or pod.removed_ms
    if pod.started_ms is not None:
        yield "runs", pod.started_ms, node
    if pod.ended and ended_ms is not None:
        before = "" if pod.ended_ms else "before "
        at = datetime.fromtimestamp(ended_ms / 1000, UTC)
        yield "ended", ended_ms, f"{node} {before}{at:%Y-%m-%d %H:%M:%S} UTC: {pod.ended}"
    if pod.waits:
        yield "waits", pod.waits_since_ms, pod.waits
    if pod.removed_ms is not None:
        yield "was removed", pod.removed_ms, f"last seen {pod.phase or 'in no known phase'} {node}"


def _record(pod: Pod, verb: str, at_ms: int, reason: str) -> LogRecord:
    address = f"({pod.address})" if pod.address else ""
    job = f" for job {pod.job_id}" if pod.job_id else ""
    message = f"Kubernetes pod {pod.name}{address} {verb}{job}: {reason}"
    level = "WARN" if verb.endswith(("ended", "waits")) else "INFO"
    return log_record(PROCESS, at_ms, level, LOGGER, message)
