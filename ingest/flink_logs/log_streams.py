"""What one process printed to one output, among others in one file: its lines, and where in the
file they stand.
"""

from bisect import bisect_right
from dataclasses import dataclass, field

from ingest.flink_logs.layouts import Layout
from ingest.flink_logs.record_splitter import RecordSplitter

KEPT_PLACES = 4096
StreamKey = tuple[str, str, str]


@dataclass(slots=True)
class LogStream:
    """``canonical`` and ``physical`` say which offset of the splitter is which one of the file."""

    key: StreamKey
    process: str
    layout: Layout
    splitter: RecordSplitter
    floor: int
    is_json: bool = False
    begun_at: int = -1
    partial: bytes = b""
    partial_at: int = -1
    given: int = 0
    canonical: list[int] = field(default_factory=list)
    physical: list[int] = field(default_factory=list)

    def place(self, offset: int) -> int:
        index = bisect_right(self.canonical, offset) - 1
        return self.physical[index] + offset - self.canonical[index] if index >= 0 else offset

    def begins(self) -> int | None:
        of_record = self.place(self.splitter.resume_offset) if self.splitter.pending else None
        return min(
            (at for at in (of_record, self.partial_at if self.partial else None) if at is not None),
            default=None,
        )

    def forget_places(self) -> None:
        if len(self.canonical) > KEPT_PLACES:
            done = max(bisect_right(self.canonical, self.splitter.resume_offset) - 1, 0)
            del self.canonical[:done], self.physical[:done]
