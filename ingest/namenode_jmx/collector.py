"""Asks a NameNode how it is, once per interval of metrics. Its address is checked like any other that Weir connects to."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ingest.errors import Skipped
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import BadAnswer, Unanswered
from ingest.flink_rest.gate import Gate
from ingest.namenode_jmx.beans import QUERIES, sample
from ingest.records import NameNodeSample
from ingest.sources import ClusterSource, Tls

SOURCE = "namenode_jmx"
MOST_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True)
class NameNodeRead:
    """``sample`` None: it was not due, or ``error`` says in a sentence why there is none."""

    cursor: dict[str, Any]
    sample: NameNodeSample | None = None
    error: str = ""
    reason: str = ""
    requests: int = 0


def base_of(url: str) -> str:
    """People paste the address with the servlet's path."""
    return url.rstrip("/").removesuffix("/jmx")


async def read_namenode(source: ClusterSource, cursor: dict[str, Any], gate: Gate, at: Callable[[], datetime]) -> NameNodeRead:
    now = at()
    due_at = cursor.get("due_at")
    if isinstance(due_at, int | float) and due_at > now.timestamp():
        return NameNodeRead(cursor)
    again = {"due_at": now.timestamp() + source.metrics_interval_s}
    # Neither the secret nor the client certificate of the cluster goes there.
    async with RestClient(
        base_of(source.namenode_jmx_url),
        auth=None,
        tls=Tls(source.namenode_ca_file),
        request_timeout_s=source.request_timeout_s,
        max_response_bytes=MOST_BYTES,
        gate=gate,
    ) as client:
        try:
            return NameNodeRead(again, sample([await client.get(query) for query in QUERIES], now), requests=client.requests)
        except (BadAnswer, Unanswered, Skipped) as error:
            return NameNodeRead(again, error=str(error), reason=getattr(error, "reason", "bad_payload"), requests=client.requests)
