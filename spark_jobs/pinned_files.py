from collections.abc import Mapping, Sequence
from datetime import datetime

from ingest.lake.derived import with_same_rows
from ingest.lake.reader import DataFile, LakeReader
from spark_jobs.spans import Span


class PinnedFiles:
    """Files of a lake, chosen by recorded bounds of commit and time. ``versions``: last commit to
    read, by table; files are those of the newest version, since those of older ones may be deleted.
    ``after``: last known commit by table.
    """

    lake: LakeReader
    versions: dict[str, int]

    def times_of_new(
        self, table: str, after: Mapping[str, int]
    ) -> list[tuple[datetime | None, datetime | None]]:
        return [
            (file.first_time, file.last_time)
            for source in with_same_rows(table)
            for file in self.new_files(source, after)
        ]

    def new_files(self, table: str, after: Mapping[str, int]) -> list[DataFile]:
        version, after_seq = self.versions.get(table, 0), after.get(table, 0)
        if version <= after_seq:
            return []
        return self.lake.files(table, after_seq=after_seq, up_to_seq=version)

    def files_in(self, table: str, spans: Sequence[Span]) -> list[DataFile]:
        version = self.versions.get(table, 0)
        if not spans or not version:
            return []
        files = self.lake.files(
            table,
            up_to_seq=version,
            from_time=min(start for start, _ in spans),
            to_time=max(end for _, end in spans),
        )
        return [file for file in files if _overlaps(file, spans)]


def _overlaps(file: DataFile, spans: Sequence[Span]) -> bool:
    if file.first_time is None or file.last_time is None:
        return True
    return any(file.first_time <= end and file.last_time >= start for start, end in spans)
