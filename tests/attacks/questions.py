"""Queries and forms that nobody honest sends: made at random from what the pages ask for, the same
ones at every run.
"""

import base64
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

WEBAPP = Path(__file__).resolve().parents[2] / "webapp"
_ASKED = re.compile(r"""(?:\bget|getlist|parameter|instant)\([^"'\n]*["']([a-z_]{1,24})["']""")
_DECLARED = re.compile(
    r"(?m)^    ([a-z_]{1,24})(?:: Parameter)? = "
    r"(?:Text|LongText|Choice|Whole|Flag|Instant|Status|Order)\("
)


def cursor(*values: object) -> str:
    """As a page makes them, with whatever in it."""
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


DEEP = base64.urlsafe_b64encode(b"[" * 5_000).decode()
CURSORS = (
    cursor(False, [1e308 * 10]),
    cursor(False, ["abc", "abc"]),
    cursor(False, [1]),
    cursor(False, [1, 1]),
    cursor(True, [2**63 - 1, -(2**63) + 1]),
    cursor(False, [float("nan"), float("nan")]),
    cursor(False, [{"at": "0001-01-01T00:00:00+14:00"}, 1]),
    cursor(False, [{"at": "9999-12-31T23:59:59.999999-14:00"}, 1]),
    cursor(False, [{"at": 7}, []]),
    cursor(False, [True, False]),
    cursor(False, [[[]], {}]),
    cursor(False, ["\ud800", "é"]),
    cursor(False, []),
    cursor(1, 2, 3),
    cursor(),
    DEEP,
    "=",
    "é",
    "A" * 9_000,
)
VALUES = (
    "",
    " ",
    "0",
    "-1",
    "1",
    "7",
    "1e400",
    "NaN",
    "Infinity",
    "-0",
    "9" * 19,
    "9" * 400,
    "٣",
    "½",
    "true",
    "on",
    "null",
    "[]",
    "{}",
    "[[[[",
    "\x00",
    "a\x00b",
    "\ufeff",
    "\u202e",
    "\ud7ff",
    "é" * 300,
    "A" * 5_000,
    "%",
    "%s%s%n",
    "{{7*7}}",
    ("{% debug %}"),
    "=cmd()",
    "\r\nX: y",
    "<script>alert(1)</script>",
    "' OR 1=1 --",
    ('"; DROP TABLE x'),
    "../../etc/passwd",
    "/etc/passwd",
    "file:///etc/passwd",
    "http://[",
    "s3://bucket/checkpoints",
    "//x",
    "now",
    "now-6h",
    "now-999999d",
    "now-999999w",
    "now+1h",
    "now-1s",
    "2026-03-01",
    "2026-02-30",
    "2026-03-01T04:10:00Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59+00:00",
    "2026-03-01T04:10:00+99:99",
    "1" * 40,
    "-" * 40,
    "prod-eu",
    "checkpoint.declined",
    "pressure.root",
    "critical",
    "csv",
    "id",
    "-id",
    "name",
    "a,b,c",
    'cluster="prod-eu"',
    'cluster=~"(a+)+$"',
    'cluster=~"["',
)


@cache
def parameters() -> tuple[str, ...]:
    """What the pages and the API ask a query or a form for, read off their source: a new one is
    asked by itself.
    """
    texts = [
        path.read_text() for path in sorted(WEBAPP.rglob("*.py")) if "migrations" not in path.parts
    ]
    found = {
        name for text in texts for pattern in (_ASKED, _DECLARED) for name in pattern.findall(text)
    }
    assert {"from", "to", "cursor", "uri", "sort"} <= found, (
        "the source is written otherwise than this module reads it"
    )
    return tuple(sorted(found))


def asked(
    subject: str, count: int, names: tuple[str, ...], *, also: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """``count`` queries or forms for ``subject``; ``also`` is there mostly, so that not all stop at
    the first check.
    """
    random = Random(subject)
    for _ in range(count):
        said: dict[str, Any] = dict(also or {}) if random.random() < 0.8 else {}
        for name in random.sample(names, min(len(names), random.randrange(1, 7))):
            said[name] = random.choice(
                CURSORS if name in ("cursor", "at", "after") and random.random() < 0.8 else VALUES
            )
        if random.random() < 0.3:
            said["cursor"] = random.choice(CURSORS)
        if random.random() < 0.5:
            said["from"], said["to"] = random.choice(VALUES), random.choice(VALUES)
        yield said
