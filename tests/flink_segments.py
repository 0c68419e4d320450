"""Segments of merged files as Flink's own loader printed them: code that shares nothing with the
reading of ``_metadata``.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from dicts(one)


def by_flink(path: Path) -> dict[tuple[str, int], int]:
    """(name of the physical file, offset) → bytes of each segment, from what Flink's loader
    printed.
    """
    lines = Path(f"{path}.oracle.jsonl").read_text().splitlines()
    handles = [
        one
        for line in lines
        for one in dicts(json.loads(line))
        if one.get("handle_class") == "SegmentFileStateHandle"
    ]
    return {
        (str(one["path_or_null"]).rsplit("/", 1)[-1], int(one["offset_or_null"])): int(one["size"])
        for one in handles
    }
