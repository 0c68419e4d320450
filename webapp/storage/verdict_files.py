"""Reads the files that are not live from an audit's Parquet, sorted by root and path.

A page reads row groups, starting where the last page ended, until it is full or has read
``MOST_SCANNED`` rows.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.compute as pc
from django.utils.translation import gettext

from ingest.parquet_stream import ParquetStream
from spark_jobs.audit_tables import STORAGE_FILE
from spark_jobs.manifest import BadManifest, Manifest
from spark_jobs.storage_words import KINDS, VERDICTS
from webapp.lib.filter_sets import ListFilters
from webapp.lib.query_parameters import Choice, LongText, Text
from webapp.storage.auditing import loading
from webapp.storage.models import RootFigures
from webapp.work.run_files import file_uris

COLUMNS = tuple(name for name in STORAGE_FILE.column_names if name != "audit_id")
MOST_SCANNED = 1_000_000
BATCH_ROWS = 5_000


@dataclass(frozen=True)
class FileQuery:
    """Empty fields match all files. ``after``: last path of the previous page."""

    root: str = ""
    verdict: str = ""
    reason: str = ""
    kind: str = ""
    job_id: str = ""
    after: str = ""

    def mask(self, batch: pa.RecordBatch) -> Any:
        mask = pc.greater(batch["path"], self.after)
        for name in ("root", "verdict", "reason", "kind", "job_id"):
            if value := getattr(self, name):
                mask = pc.and_(mask, pc.fill_null(pc.equal(batch[name], value), False))
        return mask


@dataclass(frozen=True)
class FilePage:
    """``after``: last path before the next page, empty at the end. ``incomplete``: the page ended
    early, after ``most_scanned`` rows.
    """

    rows: list[dict[str, Any]]
    after: str = ""
    incomplete: bool = False


@dataclass(frozen=True)
class VerdictFiles:
    """``parts`` are URIs of Parquet files, in any order."""

    parts: Sequence[str]
    most_scanned: int = MOST_SCANNED

    @classmethod
    def of(cls, manifest: Manifest) -> "VerdictFiles":
        return cls(file_uris(manifest, STORAGE_FILE.name))

    def matching(self, query: FileQuery) -> Iterator[dict[str, Any]]:
        for batch in self._batches(query):
            yield from _rows(batch.filter(query.mask(batch)))

    def page(self, query: FileQuery, size: int) -> FilePage:
        """At most ``size`` rows of one root after the path ``query.after``."""
        rows: list[dict[str, Any]] = []
        scanned, last_path = 0, ""
        for batch in self._batches(query):
            scanned += batch.num_rows
            last_path = batch["path"][batch.num_rows - 1].as_py()
            rows += _rows(batch.filter(query.mask(batch)).slice(0, size + 1 - len(rows)))
            if len(rows) > size:
                return FilePage(rows[:size], rows[size - 1]["path"])
            if scanned >= self.most_scanned:
                return FilePage(rows, max(last_path, query.after), incomplete=True)
        return FilePage(rows)

    def _batches(self, query: FileQuery) -> Iterator[pa.RecordBatch]:
        """Rows of the root, from row groups that may contain paths after ``query.after``."""
        for part in sorted_parts(self.parts):
            with fsspec.open(part, "rb") as stream:
                parquet = ParquetStream(stream)
                groups = [
                    number
                    for number in range(parquet.num_row_groups)
                    if _may_match(parquet.metadata.row_group(number), query)
                ]
                if not groups:
                    continue
                for batch in parquet.iter_batches(
                    BATCH_ROWS, row_groups=groups, columns=list(COLUMNS)
                ):
                    if query.root:
                        batch = batch.filter(pc.equal(batch["root"], query.root))
                    if batch.num_rows:
                        yield batch


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [dict.fromkeys(COLUMNS) | row for row in batch.to_pylist()]


def _may_match(group: Any, query: FileQuery) -> bool:
    bounds = _bounds(group)
    roots, paths = bounds.get("root"), bounds.get("path")
    if query.root and roots and not roots[0] <= query.root <= roots[1]:
        return False
    # Paths are sorted only within one root.
    has_one_root = roots is not None and roots[0] == roots[1]
    is_before = bool(query.after and paths and has_one_root and paths[1] <= query.after)
    return not is_before


def _bounds(group: Any) -> dict[str, tuple[str, str]]:
    """Column → its smallest and largest value in the row group, if they are known."""
    bounds = {}
    for number in range(group.num_columns):
        column = group.column(number)
        statistics = column.statistics
        if column.path_in_schema in ("root", "path") and statistics and statistics.has_min_max:
            bounds[column.path_in_schema] = (_text(statistics.min), _text(statistics.max))
    return bounds


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def sorted_parts(parts: Sequence[str]) -> list[str]:
    """Parquet parts sorted by root and path of their first row; parts without rows are left out."""
    starts = []
    for part in parts:
        with fsspec.open(part, "rb") as stream:
            head = next(ParquetStream(stream).iter_batches(1, columns=["root", "path"]), None)
        if head is not None and head.num_rows:
            starts.append((head["root"][0].as_py(), head["path"][0].as_py(), part))
    return [part for _root, _path, part in sorted(starts)]


log = logging.getLogger(__name__)
NOT_LIVE = tuple(name for name in VERDICTS if name != "live")


class FileFilters(ListFilters):
    root = LongText(about="its canonical URI")
    verdict = Choice(NOT_LIVE)
    reason = Text()
    kind = Choice(tuple(KINDS))
    job_id = Text(about="also taken as job")
    after = LongText(about="`after` of the answer before")
    aliases = {"uri": "root", "job": "job_id"}

    @property
    def query(self) -> FileQuery:
        return FileQuery(**self.values)


def read_page(figures: RootFigures, query: FileQuery, size: int) -> tuple[FilePage, str]:
    """A page and "", or an empty page and why it could not be read."""
    if not figures.audit.files_kept:
        return FilePage([]), gettext("The list of files of this audit is no longer kept.")
    try:
        return VerdictFiles.of(loading.read_manifest(figures.audit)).page(query, size), ""
    except (OSError, BadManifest):
        log.exception("Verdicts of audit %s could not be read", figures.audit.audit_id)
        return FilePage([]), gettext(
            "The list of files of this audit could not be read; the server's log has the reason."
        )
