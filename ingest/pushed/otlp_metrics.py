"""Metrics by OTLP over HTTP → samples under the names of Flink's Prometheus reporter.

Flink's ``OpenTelemetryMetricReporter`` (1.20 and later, ``exporter.protocol: http``) joins ``flink``, scope and name by dots and gives the
variables of the scope as attributes, so that its names become the other reporter's where every other character is ``_``; the rate of a
meter ends in ``.rate``. Its counters come as differences (``DELTA``) since the last report: they tell no total and are not read, unless a
collector between makes totals of them. Source: ``OpenTelemetryMetricReporter`` and ``OpenTelemetryMetricAdapter`` of Flink 1.20 to 2.2,
``opentelemetry/proto/metrics/v1/metrics.proto`` and the JSON mapping of the OTLP specification.
"""

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest, ExportMetricsServiceResponse

from ingest.errors import Refused
from ingest.json_bounds import TooManyValues, decoded
from ingest.prometheus.gauges import of_gauge
from ingest.prometheus.matrix import LAST_INSTANT_S
from ingest.prometheus.names import JOB_NAMES, TASK_NAMES, TASKMANAGER_NAMES, spelled
from ingest.pushed.bodies import TooLarge
from ingest.pushed.metric_sample import Sample
from ingest.pushed.protobuf_texts import message_of

LABELS = ("job_id", "job_name", "task_id", "task_name", "subtask_index", "task_attempt_num", "operator_id", "tm_id", "host")
MAX_LABEL_CHARACTERS = 1_000
_RATE = "_rate"
_NAMES = {name.lower(): name for name in (*TASK_NAMES, *JOB_NAMES, *TASKMANAGER_NAMES)}
"""By the name in lower case: OpenTelemetry's names differ by more than case, and some of its SDKs send them so."""

_DELTA, _NO_NUMBER = "differences (delta), from which no total follows", "no numbers, or of no instant"


@dataclass(slots=True)
class Pushed:
    """What a body holds of metrics that Weir wants; ``unread`` counts, by reason and name, those of them that cannot be taken."""

    samples: list[Sample] = field(default_factory=list)
    unread: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def problem(self) -> str:
        """One sentence; empty where everything was taken."""
        if not self.unread:
            return ""
        (why, name), count = self.unread.most_common(1)[0]
        return f"{self.unread.total():,} sample(s) are not read; {count:,} of {name} are {why}."


def from_protobuf(body: bytes) -> Pushed:
    """Raises :class:`Refused` where the body is no such message."""
    try:
        document = MessageToDict(message_of(body, ExportMetricsServiceRequest))
    except (DecodeError, ValueError, RecursionError) as error:
        raise Refused("The body is no ExportMetricsServiceRequest in protobuf.") from error
    return _pushed(document)


def from_json(body: bytes) -> Pushed:
    """Raises :class:`Refused` where the body is no such message."""
    try:
        document, _ = decoded(body, lenient=True, cut_deep=True)
    except TooManyValues as error:
        raise TooLarge(f"The body is too large: {error}.") from error
    except (ValueError, RecursionError) as error:
        raise Refused("The body is no JSON.") from error
    if not isinstance(document, dict) or not isinstance(document.get("resourceMetrics", []), list):
        raise Refused('The body is no JSON object with "resourceMetrics".')
    return _pushed(document)


def accepted() -> ExportMetricsServiceResponse:
    """The answer that the protocol asks for. Nothing is called rejected: a reporter would send nothing else, and log it every time."""
    return ExportMetricsServiceResponse()


def _pushed(document: Any) -> Pushed:
    found = Pushed()
    for resource in _list(document, "resourceMetrics"):
        for scope in _list(resource, "scopeMetrics"):
            for metric in _list(scope, "metrics"):
                _take(metric, found)
    return found


def _take(metric: Any, found: Pushed) -> None:
    name = _wanted_name(metric.get("name") if isinstance(metric, dict) else None)
    if name is None:
        return
    match metric:
        case {"gauge": dict(data)} | {"sum": {"aggregationTemporality": "AGGREGATION_TEMPORALITY_CUMULATIVE" | 2} as data}:
            points = _list(data, "dataPoints")
        case {"sum": data}:
            found.unread[_DELTA, name] += len(_list(data, "dataPoints"))
            return
        case _:
            found.unread[_NO_NUMBER, name] += 1
            return
    for point in points:
        sample = _sample(name, point)
        if sample is None:
            found.unread[_NO_NUMBER, name] += 1
        else:
            found.samples.append(sample)


def _wanted_name(given: Any) -> str | None:
    if not isinstance(given, str) or len(given) > 300:
        return None
    name = spelled("", given).lower()
    return _NAMES.get(name) or _NAMES.get(name.removesuffix(_RATE)) or (name if of_gauge(name) else None)


def _sample(name: str, point: Any) -> Sample | None:
    match point:
        case {"timeUnixNano": str() | int() as at, "asDouble": str() | int() | float() as value}:
            pass
        case {"timeUnixNano": str() | int() as at, "asInt": str() | int() as value}:
            pass
        case _:
            return None
    try:
        at_s, number = int(at) / 1e9, float(value)
    except (ValueError, OverflowError):
        return None
    if not (math.isfinite(number) and 0 < at_s <= LAST_INSTANT_S):
        return None
    return Sample(name, tuple(_labels(point)), at_s, number)


def _labels(point: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for pair in _list(point, "attributes"):
        match pair:
            case {"key": str(key), "value": {"stringValue": str(value)}} if key in LABELS:
                yield key, value[:MAX_LABEL_CHARACTERS]
            case {"key": str(key), "value": {"intValue": str() | int() as value}} if key in LABELS:
                yield key, str(value)[:MAX_LABEL_CHARACTERS]


def _list(of: Any, name: str) -> list[Any]:
    found = of.get(name) if isinstance(of, dict) else None
    return found if isinstance(found, list) else []
