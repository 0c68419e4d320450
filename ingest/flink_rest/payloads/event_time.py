"""Selects metrics of event time for vertices with several inputs.

Up to 1.20, operators with two inputs report the watermark of each input
(``currentInput1Watermark``). From 2.0 on, only operators for any number of inputs do so
(FLINK-36355). A vertex that feeds an input still reports ``currentOutputWatermark`` of the last
operator of its chain.
"""

import re
from collections.abc import Collection, Iterable, Mapping

from ingest.records import Edge

RECEIVED, SENT = "currentInputWatermark", "currentOutputWatermark"
MOST_FEEDERS = 8
MOST_OPERATOR_CHARS = 80
_ARROW = " -> "
_UNDERSCORED = re.compile(r"[ .:,]")
"""In names of metrics, Flink replaces these characters by underscores."""
_INDEX_PREFIX = re.compile(r"^\[vertex-\d+\]")


def feeders(edges: Iterable[Edge]) -> dict[str, tuple[str, ...]]:
    """Vertex with several inputs → the vertices that feed it."""
    feeding: dict[str, dict[str, None]] = {}
    for edge in edges:
        feeding.setdefault(edge.target_vertex_id, {})[edge.source_vertex_id] = None
    return {
        target: tuple(sources)
        for target, sources in feeding.items()
        if 1 < len(sources) <= MOST_FEEDERS
    }


def names_to_ask(
    vertex_id: str, name: str, listed: Collection[str], feeders_of: Mapping[str, Collection[str]]
) -> list[str]:
    """``listed``: the metrics of the vertex called ``name``. ``feeders_of``: see ``feeders``."""
    has_inputs = vertex_id in feeders_of
    requested = [RECEIVED] if has_inputs and RECEIVED in listed else []
    operators = {text.removesuffix(f".{SENT}") for text in listed if text.endswith(f".{SENT}")}
    operator = None
    if any(vertex_id in sources for sources in feeders_of.values()):
        operator = _end_operator(name, operators, first=False)
    elif has_inputs:
        operator = _end_operator(name, operators, first=True)
    return [*requested, f"{operator}.{SENT}"] if operator else requested


def is_of_event_time(name: str) -> bool:
    return name == RECEIVED or name.endswith(f".{SENT}")


def _end_operator(vertex_name: str, operators: Collection[str], first: bool) -> str | None:
    """The first or last operator of the chain, as metrics name it; None if several match."""
    # An operator's name may contain an arrow: each beginning or end of the chain is compared.
    parts = vertex_name.split(_ARROW)
    cuts = (parts[:size] if first else parts[-size:] for size in range(1, len(parts) + 1))
    names = {_metric_name(_ARROW.join(cut)) for cut in cuts}.intersection(operators)
    if len(names) != 1:
        return None
    (operator,) = names
    is_repeated = [_metric_name(part.strip("()")) for part in parts].count(operator) > 1
    return None if is_repeated else operator


def _metric_name(operator: str) -> str:
    return _UNDERSCORED.sub("_", _INDEX_PREFIX.sub("", operator)[:MOST_OPERATOR_CHARS])
