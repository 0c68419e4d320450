"""Loki's ``query_range``: streams of a selector, forward. ``start`` is inclusive, ``end``
exclusive, in nanoseconds. Structured metadata is among the labels or, with
``categorize-labels``, which a proxy may set, the third member of a value. Source: Loki's HTTP API.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlencode

from ingest.errors import Skipped
from ingest.log_stores.pages import LAST_NS, NO_INSTANT, Page
from ingest.messages import message
from ingest.pushed.entries import Entry, entry_of, excerpt
from ingest.records import Skip


class Loki:
    name = "Loki"
    resolution_ns = 1
    usual_lines = most_lines = 5_000

    def __init__(self, query: str) -> None:
        self._query = query

    def path(self, start_ns: int, end_ns: int, limit: int) -> str:
        parameters = {
            "query": self._query,
            "start": start_ns,
            "end": end_ns,
            "limit": limit,
            "direction": "forward",
        }
        return f"/loki/api/v1/query_range?{urlencode(parameters, quote_via=quote)}"

    def page(self, body: object) -> Page:
        match body:
            case {"status": "success", "data": {"resultType": "streams", "result": list(streams)}}:
                pass
            case {"status": "success"}:
                raise Skipped(
                    "Loki answered no streams of lines; the query has to be a selector such as "
                    '{namespace="flink"}.'
                )
            case _:
                raise Skipped(
                    message("The answer is not from Loki's query_range API; check the address.")
                )
        entries = [line for stream in streams for line in _lines(stream)]
        entries.sort(key=lambda pair: pair[0])
        return Page(tuple(entries))

    def advice(self, status: int) -> str:
        match status:
            case 400:
                return message(
                    "Check its selector, and that max_entries_limit_per_query is "
                    "{most_lines:number} or more.",
                    most_lines=self.most_lines,
                )
            case 401 | 403:
                return message("Check sign-in and tenant.")
            case 404:
                return message("Give Loki's address without /loki/api.")
        return ""


def _lines(stream: Any) -> Iterator[tuple[int, Entry | Skip]]:
    match stream:
        case {"stream": dict(labels), "values": list(values)}:
            for value in values:
                yield _line(labels, value)
        case _:
            yield NO_INSTANT, Skip("stream", "bad_payload", "It has no labels or no values.")


def _line(labels: dict[str, Any], value: Any) -> tuple[int, Entry | Skip]:
    match value:
        case [str(at), str(line), *members] if (
            at.isascii() and at.isdigit() and len(at) <= 19 and int(at) <= LAST_NS
        ):
            metadata = {**labels, **_structured_metadata(members)}
            return int(at), entry_of({"line": line, "stamp": at}, metadata) or Skip(
                f"line of {at}", "no_text", "The line is empty."
            )
        case _:
            return NO_INSTANT, Skip(
                excerpt(value), "bad_payload", "It is not a pair of nanoseconds and line."
            )


def _structured_metadata(members: list[Any]) -> dict[str, Any]:
    match members:
        case [{"structuredMetadata": dict(metadata)}, *_]:
            return metadata
        case [dict(metadata), *_]:
            return {name: value for name, value in metadata.items() if isinstance(value, str)}
    return {}
