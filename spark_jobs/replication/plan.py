"""The immutable plan of a round: files to copy, already copied, and to delete later."""

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from spark_jobs.replication.needs import Need

FORMAT = 1


class BadPlan(Exception):
    """A plan, or another record of the copy, cannot be read."""


@dataclass(frozen=True, slots=True)
class Entry:
    """``path``: canonical, in the origin. ``name``: in the copy. ``bytes``: how many are copied
    from the start, all of the file if ``whole``. ``kept``: already in the copy.
    """

    path: str
    name: str
    bytes: int
    whole: bool
    kept: bool


@dataclass(frozen=True)
class Plan:
    """``metadata_modified``: ISO, None if unknown. ``delete``: files of earlier copies only."""

    round: int
    checkpoint_id: int
    metadata_path: str
    metadata_bytes: int
    metadata_modified: str | None
    metadata_name: str
    entries: Sequence[Entry]
    delete: Sequence[str]

    @cached_property
    def content(self) -> bytes:
        head = {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("entries", "content", "name")
        }
        lines: list[dict[str, Any]] = [{"format": FORMAT} | head, *map(asdict, self.entries)]
        return b"".join(json.dumps(line).encode() + b"\n" for line in lines)

    @cached_property
    def name(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def metadata_key(self) -> tuple[str, int, str | None]:
        return self.metadata_path, self.metadata_bytes, self.metadata_modified

    @property
    def files_to_copy(self) -> Sequence[Entry]:
        return [entry for entry in self.entries if not entry.kept]


def read_plan(content: bytes) -> Plan:
    try:
        head, *entries = map(json.loads, content.splitlines())
        if head.pop("format") != FORMAT:
            raise ValueError("another format")
        return Plan(**head, entries=[Entry(**entry) for entry in entries])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadPlan(f"A plan of this copy cannot be read ({error}).") from error


def entries_of(
    needs: Mapping[str, Need], names: Mapping[str, str], sizes: Mapping[str, int]
) -> list[Entry]:
    """``sizes``: of files in the copy. Files in chk-N come first, since Flink deletes them first."""
    entries = [
        Entry(path, names[path], need.bytes, need.whole, sizes.get(names[path]) == need.bytes)
        for path, need in needs.items()
    ]
    return sorted(entries, key=lambda entry: ("/chk-" not in entry.path, entry.path))


def unneeded(names: Collection[str], needed: Collection[str]) -> list[str]:
    return sorted(
        set(names) - set(needed), key=lambda name: (not name.endswith("/_metadata"), name)
    )
