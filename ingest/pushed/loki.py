"""Loki's push protocol in JSON, which Fluent Bit's ``loki`` output and Vector's ``loki`` sink use."""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.errors import Refused
from ingest.json_members import as_list
from ingest.pushed import bounds
from ingest.pushed.entries import Entry, Processes, entry_of, excerpt, origin_of
from ingest.records import Skip

_EXPECTED = 'JSON object with "streams"; Loki\'s protocol in protobuf is not read'


def entries(body: bytes) -> Iterator[Entry | Skip]:
    document = bounds.json_document(body, _EXPECTED)
    if not isinstance(document, dict) or "streams" not in document:
        raise Refused(f"The body is no {_EXPECTED}.")
    records, processes = bounds.records(), Processes()
    for stream in as_list(document["streams"]):
        match stream:
            case {"stream": dict(labels), "values": list(values)}:
                records.add(1 + len(values))
                origin = origin_of(labels)
                yield from (_entry(origin, value, processes) for value in values)
            case _:
                records.add()
                yield Skip(excerpt(stream), "not_json", "A stream has labels and a list of values.")


def _entry(origin: Mapping[str, Any], value: Any, processes: Processes) -> Entry | Skip:
    match value:
        case [str(at), str(line), *_]:
            entry = entry_of({"line": line, "ts": at}, origin, process_at=processes)
            return entry or Skip(ascii(at[:40]), "no_text", "The line is empty.")
        case _:
            return Skip(
                excerpt(value),
                "not_json",
                "A value of a stream is a pair of texts: nanoseconds and the line.",
            )
