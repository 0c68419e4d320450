"""What was recorded, moved in time: every record of it is the same, but for its times and the ids
and names of jobs.
"""

import json
from collections import Counter
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ingest.recordings.recording import Recording
from ingest.replay.tape import Shift, id_of, line_ms
from tests.ingest.recorded import RECORDINGS

RECORDED_MS = 1_795_234_333_718
DECADE_MS = 10 * 365 * 86_400_000
OLD_NAME = "lab-J-failing"
instants = st.integers(1_000_000_000_000, 4_000_000_000_000)


def shift(by_ms: int, **names: str) -> Shift:
    return Shift(by_ms, RECORDED_MS, {old.encode(): new.encode() for old, new in names.items()})


@given(at_ms=instants, by_ms=st.integers(-DECADE_MS, DECADE_MS))
def test_the_time_of_a_line_moves_by_the_shift(at_ms: int, by_ms: int) -> None:
    at = datetime.fromtimestamp(at_ms // 1000, UTC)
    line = f"{at:%Y-%m-%d %H:%M:%S},{at_ms % 1000:03d} INFO  x [] - y\n".encode()
    assert line_ms(line) == at_ms
    assert line_ms(shift(by_ms).line(line)) == at_ms + by_ms


@given(number=st.integers(0, 10**18), by_ms=st.integers(1, DECADE_MS))
def test_a_number_moves_only_where_it_is_an_instant_of_the_recording(
    number: int, by_ms: int
) -> None:
    moved = shift(by_ms).text(b'{"bytes":%d}' % number)
    is_instant = abs(number - RECORDED_MS) <= 86_400_000
    assert moved == b'{"bytes":%d}' % (number + by_ms if is_instant else number)


def test_digits_within_an_id_or_a_fraction_are_no_instant() -> None:
    for text in (b"a1795234333718b", b"0.1795234333718", b"1795234333718.5", b"17952343337180"):
        assert shift(1).text(text) == text


def test_an_id_is_another_in_each_turn_and_the_same_after_a_restart() -> None:
    assert id_of("a" * 32, 1) != id_of("a" * 32, 2)
    assert id_of("a" * 32, 1) == id_of("a" * 32, 1)


def test_a_shifted_recording_gives_the_same_records_shifted(tmp_path: Path) -> None:
    folder = RECORDINGS / "1.20.5" / "J"
    answers = [json.loads(line) for line in (folder / "rest.jsonl").read_bytes().splitlines()]
    job_id = next(
        job["jid"]
        for entry in answers
        if entry["path"] == "/jobs/overview"
        for job in entry["body"]["jobs"]
    )
    by_ms, new_id = 2 * 86_400_000 + 12_345_678, "0" * 31 + "1"
    moved = Shift(
        by_ms,
        round(answers[0]["ts"] * 1000),
        {job_id.encode(): new_id.encode(), OLD_NAME.encode(): b"invoice-matching"},
    )
    with (tmp_path / "rest.jsonl").open("w") as rest:
        for entry in answers:
            body = json.loads(moved.text(json.dumps(entry["body"]).encode()))
            at_s = (round(entry["ts"] * 1000) + by_ms) / 1000
            rest.write(
                json.dumps(
                    entry
                    | {"ts": at_s, "path": entry["path"].replace(job_id, new_id), "body": body}
                )
                + "\n"
            )
    (tmp_path / "logs").mkdir()
    for log in (folder / "logs").iterdir():
        (tmp_path / "logs" / log.name).write_bytes(
            b"".join(moved.line(line) for line in log.read_bytes().splitlines(keepends=True))
        )

    def expected(value: Any) -> Any:
        """By hand: instants moved, the id and the name replaced, wherever they stand."""
        if isinstance(value, datetime):
            return value + timedelta(milliseconds=by_ms)
        if isinstance(value, str):
            value = value.replace(job_id, new_id).replace(OLD_NAME, "invoice-matching")
            return value if not (value.isdigit() and len(value) == 13) else str(int(value) + by_ms)
        if is_dataclass(value):
            return {field.name: expected(getattr(value, field.name)) for field in fields(value)}
        if isinstance(value, dict):
            return {key: expected(part) for key, part in value.items()}
        return [expected(part) for part in value] if isinstance(value, tuple | list) else value

    before = _records(folder)
    after = _records(tmp_path)
    assert len(before) > 1000
    assert [kind for kind, _ in after] == [kind for kind, _ in before]
    for (kind, old), (_, new) in zip(before, after, strict=True):
        if kind != "LogRecord":
            assert _plain(new) == expected(old), kind
    assert _lines(after) == Counter(
        {
            (at + timedelta(milliseconds=by_ms), event): count
            for (at, event), count in _lines(before).items()
        }
    )


def _records(folder: Path) -> list[tuple[str, Any]]:
    return [
        (type(one).__name__, one)
        for observed, _ in Recording(folder, "c").read()
        for part in observed
        for one in part.records
    ]


def _lines(records: list[tuple[str, Any]]) -> Counter[tuple[datetime, str]]:
    """Times and loggers of log lines: messages hold instants in words of their own."""
    return Counter((one.ts, one.logger) for kind, one in records if kind == "LogRecord")


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, tuple | list) else value
