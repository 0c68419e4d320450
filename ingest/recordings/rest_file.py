"""Reads ``rest.jsonl``, with a recorded answer in each line: ``{ts, path, status, body}``."""

import gzip
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, cast

from ingest.errors import Skipped
from ingest.flink_rest.answers import Answer
from ingest.flink_rest.faults import NOT_YET, not_yet_reason
from ingest.flink_rest.payloads.fields import LAST_INSTANT_MS, Fields, clean_text, instant_of_ms
from ingest.flink_rest.routing import is_read
from ingest.json_bounds import TooManyValues, decoded
from ingest.json_members import as_list, member
from ingest.records import Skip
from ingest.redaction.texts import redact
from ingest.regular_files import open_regular

MAX_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    number: int
    size_bytes: int
    content: bytes | None


def read_lines(path: Path, max_line_bytes: int = MAX_LINE_BYTES) -> Iterator[Line]:
    with _open(path) as handle:
        number = 0
        try:
            while chunk := handle.readline(max_line_bytes + 1):
                number += 1
                if len(chunk) > max_line_bytes and not chunk.endswith(b"\n"):
                    yield Line(number, len(chunk) + _skip_rest_of_line(handle), None)
                elif chunk.strip():
                    yield Line(number, len(chunk), chunk.rstrip(b"\r\n"))
        except (EOFError, zlib.error) as error:
            raise OSError(f"damaged gzip file after line {number}: {error}") from error


def _open(path: Path) -> BinaryIO:
    file = open_regular(path)
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file


def _skip_rest_of_line(handle: BinaryIO) -> int:
    size = 0
    while chunk := handle.readline(1024 * 1024):
        size += len(chunk)
        if chunk.endswith(b"\n"):
            break
    return size


MAX_SKIPPED_LINES = 100
MAX_BAD_LINES = 10_000


@dataclass(frozen=True, slots=True)
class Recorded:
    """An answer, or a skip. Both are None if Weir does not read the path, or if Flink could not
    answer yet.
    """

    at: datetime
    size_bytes: int
    answer: Answer | None = None
    skip: Skip | None = None


def read_rest_file(path: Path) -> Iterator[Recorded]:
    """Failed requests become skips. An unreadable line has the time of the previous line."""
    at = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    bad_lines = 0
    try:
        for line in read_lines(path):
            recorded = _record(line, path.name, at)
            at = recorded.at
            bad_lines += recorded.skip is not None and recorded.skip.subject.startswith(
                f"{path.name}:"
            )
            if recorded.skip is None or bad_lines <= MAX_SKIPPED_LINES:
                yield recorded
            if bad_lines >= MAX_BAD_LINES:
                why = (
                    f"{bad_lines} of its lines could not be read; the others, from line "
                    f"{line.number + 1} on, are not tried"
                )
                yield Recorded(at, 0, skip=Skip(path.name, "bad_json", why))
                return
    except OSError as error:
        yield Recorded(
            at,
            0,
            skip=Skip(
                path.name,
                "unreadable_file",
                f"{error.strerror or error}; the rest of the file is not imported",
            ),
        )
    if bad_lines > MAX_SKIPPED_LINES:
        detail = f"{bad_lines - MAX_SKIPPED_LINES} more lines could not be read"
        yield Recorded(at, 0, skip=Skip(path.name, "bad_json", detail))


def _record(line: Line, file: str, previous_at: datetime) -> Recorded:
    def skip_line(reason: str, detail: str) -> Recorded:
        skip = Skip(f"{file}:{line.number}", reason, detail)
        return Recorded(previous_at, line.size_bytes, skip=skip)

    if line.content is None:
        return skip_line("too_large", f"a line of {line.size_bytes} bytes is not read")
    try:
        entry, held_bytes = decoded(line.content)
    except TooManyValues as error:
        return skip_line("too_large", f"the line is not read: {error}")
    except (ValueError, RecursionError):
        return skip_line("bad_json", "the line is no JSON document")
    try:
        fields = Fields(entry)
        at = _time(fields.raw("ts"))
        path = fields.required_text("path")
        status = fields.required_integer("status")
    except Skipped as error:
        return skip_line("bad_json", f"no recorded answer: {error}")
    if entry.get("method", "GET") != "GET" or not is_read(path):
        return Recorded(at, line.size_bytes)
    answer = Answer(path, at, entry.get("body"), held_bytes)
    return _answer(answer, status, line.size_bytes)


def _answer(answer: Answer, status: int, size_bytes: int) -> Recorded:
    if _not_yet(status, answer.body):
        return Recorded(answer.at, size_bytes)
    if 200 <= status < 300 and isinstance(answer.body, dict | list):
        return Recorded(answer.at, size_bytes, answer)
    if 200 <= status < 300:
        reason, detail = "bad_json", "the recorded answer is no JSON document"
    elif status == 0:
        reason = "timeout" if "timed out" in str(answer.body)[:1000].lower() else "unreachable"
        detail = "no answer was recorded"
    else:
        reason, detail = "http_error", f"answered with status {status}: {_error_text(answer.body)}"
    return Recorded(answer.at, size_bytes, skip=Skip(answer.endpoint, reason, detail))


def _not_yet(status: int, body: Any) -> bool:
    """Whether Flink's text, or the reason that Weir's recorder writes instead, says so."""
    reason, errors = member(body, "reason"), member(body, "errors")
    if status == 500 and isinstance(reason, str) and reason in NOT_YET:
        return True
    text = "\n".join(text for text in as_list(errors) if isinstance(text, str))
    return not_yet_reason(status, text) is not None


def _error_text(body: Any) -> str:
    errors = body.get("errors") if isinstance(body, dict) else body
    text = errors[0] if isinstance(errors, list) and errors else errors
    lines = text.splitlines() if isinstance(text, str) else []
    return redact(clean_text(lines[0], 300) or "") if lines else "no message"


def _time(value: Any) -> datetime:
    if (
        not isinstance(value, int | float)
        or isinstance(value, bool)
        or not 0 < value < LAST_INSTANT_MS / 1000
    ):
        raise Skipped("ts: expected a time in epoch seconds")
    return instant_of_ms(min(round(value * 1000), LAST_INSTANT_MS - 1))
