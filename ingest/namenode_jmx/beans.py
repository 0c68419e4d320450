"""Parses beans of ``/jmx?qry=…`` of a NameNode.

Source: Hadoop's ``JMXJsonServlet`` and its Metrics reference, equal from 2.7 to 3.4. Counters
(``…NumOps``) count since the start. Averages (``…AvgTime``) are those of the last interval, in ms.
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from ingest.errors import Skipped
from ingest.flink_rest.payloads.fields import Fields, known_sum
from ingest.records import NameNodeOperation, NameNodeSample

QUERIES = tuple(
    f"/jmx?qry=Hadoop:service=NameNode,name={name}"
    for name in ("RpcActivityForPort*", "RpcDetailedActivityForPort*", "FSNamesystem", "JvmMetrics")
)
"""NameNodeInfo, with a list of all DataNodes, is not requested."""
MOST_BEANS, MOST_OPERATIONS = 50, 200
_COUNTER = re.compile(r"([A-Z][A-Za-z0-9]{0,60})NumOps$")
_RPC, _DETAILED, _SYSTEM = "RpcActivityForPort", "RpcDetailedActivityForPort", "FSNamesystem"
_JVM, _MIB = "JvmMetrics", 1 << 20


def sample(bodies: list[Any], at: datetime) -> NameNodeSample:
    beans = [bean for body in bodies for bean in _beans(body)]
    rpc = [bean for name, bean in beans if name.startswith(_RPC)]
    detailed = [bean for name, bean in beans if name.startswith(_DETAILED)]
    system = next((bean for name, bean in beans if name == _SYSTEM), None)
    if not rpc and not detailed and system is None:
        raise Skipped(
            "beans: expected those of a NameNode (RpcActivityForPort…, FSNamesystem), got none of "
            "them"
        )
    namesystem = system or Fields({})
    jvm = next((bean for name, bean in beans if name == _JVM), Fields({}))
    return NameNodeSample(
        ts=at,
        ha_state=namesystem.text("tag.HAState"),
        rpc_calls=known_sum(bean.integer("RpcQueueTimeNumOps") for bean in rpc),
        rpc_queue_ms=_most(bean.real("RpcQueueTimeAvgTime") for bean in rpc),
        rpc_processing_ms=_most(bean.real("RpcProcessingTimeAvgTime") for bean in rpc),
        call_queue_length=known_sum(bean.integer("CallQueueLength") for bean in rpc),
        files=namesystem.integer("FilesTotal"),
        blocks=namesystem.integer("BlocksTotal"),
        used_bytes=namesystem.integer("CapacityUsed"),
        heap_used_bytes=_bytes(jvm.real("MemHeapUsedM")),
        heap_max_bytes=_bytes(jvm.real("MemHeapMaxM")),
        operations=tuple(_operations(detailed)),
    )


def _beans(body: Any) -> Iterator[tuple[str, Fields]]:
    for number, bean in enumerate(Fields(body).objects("beans")):
        if number >= MOST_BEANS:
            return
        yield (bean.text("name") or "").rpartition("name=")[2], bean


def _operations(beans: list[Fields]) -> Iterator[NameNodeOperation]:
    calls: dict[str, int] = {}
    for bean in beans:
        for key in bean.names():
            if (match := _COUNTER.match(key)) and (count := bean.integer(key)):
                name = match[1][0].lower() + match[1][1:]
                calls[name] = calls.get(name, 0) + count
    for name in sorted(calls, key=lambda call: (-calls[call], call))[:MOST_OPERATIONS]:
        yield NameNodeOperation(name, calls[name])


def _bytes(mib: float | None) -> int | None:
    return None if mib is None or mib <= 0 else round(mib * _MIB)


def _most(values: Iterator[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)
