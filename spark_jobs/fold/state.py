"""What a run knows of a job when it begins: plain rows, packed into some kilobytes between runs."""

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from spark_jobs.fold.rows import Row


@dataclass(frozen=True)
class JobState:
    """Rows as :mod:`spark_jobs.fold.kept` keeps them. ``judged_start``, ``judged_to``: the newest judged window, and up to when."""

    answers: Sequence[Row] = ()
    events: Sequence[Row] = ()
    placements: Sequence[Row] = ()
    pressure: Sequence[Row] = ()
    failures: Sequence[Row] = ()
    uploads: Sequence[Row] = ()
    vertex_states: Sequence[Row] = ()
    judged_start: int | None = None
    judged_to: int | None = None

    def packed(self) -> bytes:
        # Answers of one job repeat its plan and its settings word for word.
        return zlib.compress(json.dumps(asdict(self), separators=(",", ":")).encode(), 1)


def unpacked(packed: bytes | None) -> JobState:
    """Names that an earlier or later version of Weir left are passed over."""
    if packed is None:
        return JobState()
    values: Mapping[str, Any] = json.loads(zlib.decompress(packed))
    known = {one.name for one in fields(JobState)}
    return JobState(**{name: value for name, value in values.items() if name in known})
