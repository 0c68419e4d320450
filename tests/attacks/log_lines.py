"""Lines of a log that somebody forged: every example of the pattern table, changed in each of many
ways, the same at every run.
"""

import re
from collections.abc import Callable, Iterator
from random import Random

from tests.ingest.flink_logs.example_lines import EXAMPLES, TRACE_EXAMPLES

HEADER = (
    b"2026-11-21 04:00:%02d,%03d %s org.apache.flink.runtime.checkpoint.CheckpointCoordinator [] - "
)
HEADERS = (
    b"0000-00-00 00:00:00,000 INFO  a.b.C [] - ",
    b"9999-99-99 99:99:99,999 INFO  a.b.C [] - ",
    b"9999-12-31 23:59:60,999 WARN  a.b.C [] - ",
    b"2026-02-30 04:00:00,001 INFO  a.b.C [] - ",
    b"1969-12-31 23:59:59,999 ERROR a.b.C [] - ",
    b"2026-11-21 04:00:00,001 \xff\xfe  a.b.C [] - ",
    b"2026-11-21 04:00:00,99999999999999999999 INFO a.b.C [] - ",
    b"2026-11-21 04:00:00,001 INFO  " + b"a." * 3_000 + b"C [] - ",
    b"\xd9\xa2\xd9\xa0\xd9\xa2\xd9\xa6-11-21 04:00:00,001 INFO a.b.C [] - ",
    b"",
)
HUGE = (
    b"9" * 15,
    b"9" * 16,
    b"9" * 19,
    b"9" * 400,
    b"-9223372036854775809",
    b"0" * 30 + b"7",
    b"1e999",
    b"NaN",
    "٣".encode(),
    b"",
)
INSERTED = (
    b"\x00",
    b"\xff",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\x1b[31m",
    b"\x1b]0;owned\x07",
    b"\r",
    b"\r\n",
    b"\x0b",
    b"\x0c",
    b"\x01",
    "\u2028".encode(),
    "\u2029".encode(),
    "\x85".encode(),
    "\u202e".encode(),
    "\U0010ffff".encode(),
    (b"(1/2)#0 ("),
    b") (",
    b"'",
    b"@",
    b" switched from A to B",
    b"Caused by: ",
    (b"\nCaused by: "),
    b"\n\tat a.b.C",
    b"\n2026-11-21 04:00:00,001 ",
    b"{name='",
    b"%s%n",
    b"#0" * 50,
    b"${jndi:x}",
)
CATASTROPHES = (
    *(
        b"(1/2) ",
        b" (1/2)#0 (",
        b"' at ",
        b"\\" * 3,
        b"((",
        b"a(",
        b"))",
        b", ",
        b". ",
        b": ",
        b"=",
        b"0",
        b" ",
        b"a",
        b"name='",
        b"\t",
        b"/",
    ),
    *(b"x - finished synchronous part of checkpoint 1. ", b" switched from A to B "),
)


def _anywhere(random: Random, line: bytes, piece: bytes) -> bytes:
    place = random.randrange(len(line) + 1)
    return line[:place] + piece + line[place:]


def _truncated(random: Random, line: bytes) -> bytes:
    return line[: random.randrange(len(line))]


def _doubled(random: Random, line: bytes) -> bytes:
    start, end = sorted((random.randrange(len(line)), random.randrange(len(line))))
    return line[:end] + line[start:end] * random.choice((1, 2, 50)) + line[end:]


def _huge_numbers(random: Random, line: bytes) -> bytes:
    number = random.choice(HUGE)
    return re.sub(rb"[0-9]+", lambda _: number, line, count=random.choice((0, 1, 2)))


def _inserted(random: Random, line: bytes) -> bytes:
    for _ in range(random.randrange(1, 6)):
        line = _anywhere(random, line, random.choice(INSERTED))
    return line


def _long(random: Random, line: bytes) -> bytes:
    return _anywhere(random, line, random.choice(CATASTROPHES) * random.choice((100, 3_000)))


def _shuffled(random: Random, line: bytes) -> bytes:
    words = line.split(b" ")
    random.shuffle(words)
    return b" ".join(words)


def _flipped(random: Random, line: bytes) -> bytes:
    changed = bytearray(line)
    for _ in range(random.randrange(1, 8)):
        changed[random.randrange(len(changed))] = random.randrange(256)
    return bytes(changed)


CHANGES: tuple[Callable[[Random, bytes], bytes], ...] = (
    _truncated,
    _doubled,
    _huge_numbers,
    _inserted,
    _long,
    _shuffled,
    _flipped,
    lambda _random, line: line * 2,
)


def examples_of_the_table() -> list[bytes]:
    """A new pattern is attacked by itself."""
    return [line.encode() for _, line in (*EXAMPLES, *TRACE_EXAMPLES)]


def hostile_lines(each: int, seed: str = "lines") -> Iterator[bytes]:
    """``each`` changed lines of every example, headers and line ends among what is changed."""
    random = Random(seed)
    for number, example in enumerate(examples_of_the_table()):
        for turn in range(each):
            body = CHANGES[(number + turn) % len(CHANGES)](random, example)
            if random.random() < 0.3:
                body = random.choice(CHANGES)(random, body or b"x")
            level = random.choice((b"INFO ", b"WARN ", b"ERROR", b"DEBUG"))
            header = (
                random.choice(HEADERS)
                if random.random() < 0.15
                else HEADER % (number % 60, turn % 1_000, level)
            )
            yield (
                header
                + body
                + random.choice(
                    (b"\n", b"\n", b"\n", b"\r\n", b"\n\tat a.b.C(D.java:1)\nCaused by: x: y\n")
                )
            )
