"""Loki's push protocol in JSON, as Fluent Bit's ``loki`` output and Vector's ``loki`` sink send it."""

from collections.abc import Iterator, Mapping
from typing import Any

from ingest.errors import Refused
from ingest.json_bounds import TooManyValues, decoded, pushed_hooks
from ingest.pushed import bounds
from ingest.pushed.bounds import TooLarge
from ingest.pushed.entries import Entry, Processes, entry_of, origin_of, shown
from ingest.records import Skip


def entries(body: bytes) -> Iterator[Entry | Skip]:
    """With the labels of their stream. Raises :class:`Refused`."""
    try:
        document, _ = decoded(
            body, bounds.MAX_VALUES, lenient=True, cut_deep=True, hooks=pushed_hooks
        )
        streams = document["streams"]
    except TooManyValues as error:
        raise TooLarge(f"The body is too large: {error}; send smaller batches.") from error
    except (ValueError, RecursionError, TypeError, KeyError) as error:
        raise Refused(
            'The body is no JSON object with "streams"; Loki\'s protocol in protobuf is not read.'
        ) from error
    records, processes = bounds.records(), Processes()
    for stream in streams if isinstance(streams, list) else ():
        match stream:
            case {"stream": dict(labels), "values": list(values)}:
                records.add(1 + len(values))
                origin = origin_of(labels)
                yield from (_entry(origin, value, processes) for value in values)
            case _:
                records.add()
                yield Skip(shown(stream), "not_json", "A stream has labels and a list of values.")


def _entry(origin: Mapping[str, Any], value: Any, processes: Processes) -> Entry | Skip:
    match value:
        case [str(at), str(line), *_]:
            entry = entry_of({"line": line, "ts": at}, origin, process_at=processes)
            return entry or Skip(ascii(at[:40]), "no_text", "The line is empty.")
        case _:
            return Skip(
                shown(value),
                "not_json",
                "A value of a stream is a pair of texts: nanoseconds and the line.",
            )
