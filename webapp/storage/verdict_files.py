"""Files that are not live, read in pieces from an audit's Parquet, sorted by root and path.

A page reads row groups from the end of the last page until it is full or has read its limit, and
the next page continues. Memory does not grow with the number of files.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
class Wanted:
    """Empty fields match any. ``after``: last path of the page before."""

    root: str = ""
    verdict: str = ""
    reason: str = ""
    kind: str = ""
    job_id: str = ""
    after: str = ""

    def mask(self, batch: pa.RecordBatch) -> Any:
        mask = pc.greater(batch["path"], self.after)
        for name in ("root", "verdict", "reason", "kind", "job_id"):
            if wanted := getattr(self, name):
                mask = pc.and_(mask, pc.fill_null(pc.equal(batch[name], wanted), False))
        return mask


@dataclass(frozen=True)
class FilePage:
    """``after`` continues it, empty at the end; ``incomplete``: it ended at the read limit."""

    rows: list[dict[str, Any]]
    after: str = ""
    incomplete: bool = False


@dataclass(frozen=True)
class VerdictFiles:
    """``parts`` are URIs of Parquet files, in any order."""

    parts: Sequence[str]
    most_scanned: int = field(default=MOST_SCANNED)

    @classmethod
    def of(cls, manifest: Manifest) -> "VerdictFiles":
        return cls(file_uris(manifest, STORAGE_FILE.name))

    def matching(self, wanted: Wanted) -> Iterator[dict[str, Any]]:
        for batch in self._batches(wanted):
            yield from _rows(batch.filter(wanted.mask(batch)))

    def page(self, wanted: Wanted, size: int) -> FilePage:
        """At most ``size`` rows of one root behind ``wanted.after``."""
        rows: list[dict[str, Any]] = []
        scanned, last = 0, ""
        for batch in self._batches(wanted):
            scanned += batch.num_rows
            last = batch["path"][batch.num_rows - 1].as_py()
            rows += _rows(batch.filter(wanted.mask(batch)).slice(0, size + 1 - len(rows)))
            if len(rows) > size:
                return FilePage(rows[:size], rows[size - 1]["path"])
            if scanned >= self.most_scanned:
                return FilePage(rows, max(last, wanted.after), incomplete=True)
        return FilePage(rows)

    def _batches(self, wanted: Wanted) -> Iterator[pa.RecordBatch]:
        """Of row groups that may hold rows of the root behind ``after``."""
        for part in in_order(self.parts):
            with fsspec.open(part, "rb") as stream:
                parquet = ParquetStream(stream)
                groups = [
                    number
                    for number in range(parquet.num_row_groups)
                    if _may_hold(parquet.metadata.row_group(number), wanted)
                ]
                if groups:
                    for batch in parquet.iter_batches(
                        BATCH_ROWS, row_groups=groups, columns=list(COLUMNS)
                    ):
                        of_root = (
                            batch.filter(pc.equal(batch["root"], wanted.root))
                            if wanted.root
                            else batch
                        )
                        if of_root.num_rows:
                            yield of_root


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [dict.fromkeys(COLUMNS) | row for row in batch.to_pylist()]


def _may_hold(group: Any, wanted: Wanted) -> bool:
    bounds = _bounds(group)
    roots, paths = bounds.get("root"), bounds.get("path")
    if wanted.root and roots and not roots[0] <= wanted.root <= roots[1]:
        return False
    # Only within one root does the order of paths give a start.
    return not (
        wanted.after and paths and roots and roots[0] == roots[1] and paths[1] <= wanted.after
    )


def _bounds(group: Any) -> dict[str, tuple[str, str]]:
    """Columns with smallest and largest values; long texts may be cut, so only equal or complete
    ones are used.
    """
    bounds = {}
    for number in range(group.num_columns):
        column = group.column(number)
        known = column.statistics
        if column.path_in_schema in ("root", "path") and known is not None and known.has_min_max:
            bounds[column.path_in_schema] = (_text(known.min), _text(known.max))
    return bounds


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def in_order(parts: Sequence[str]) -> list[str]:
    """Parquet parts sorted by root and path, by their first row; parts without rows are left out."""
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
    """Filters of rows outside the database."""

    root = LongText(about="its canonical URI")
    verdict = Choice(NOT_LIVE)
    reason = Text()
    kind = Choice(tuple(KINDS))
    job_id = Text(about="also taken as job")
    after = LongText(about="`after` of the answer before")
    aliases = {"uri": "root", "job": "job_id"}

    @property
    def wanted(self) -> Wanted:
        return Wanted(**self.values)


def read(figures: RootFigures, wanted: Wanted, size: int) -> tuple[FilePage, str]:
    """A page, or None and why: files of old audits are deleted, and storage may fail with any
    error.
    """
    if not figures.audit.files_kept:
        return FilePage([]), gettext("The list of files of this audit is no longer kept.")
    try:
        return VerdictFiles.of(loading.read_manifest(figures.audit)).page(wanted, size), ""
    except (OSError, BadManifest):
        log.exception("Verdicts of audit %s could not be read", figures.audit.audit_id)
        return FilePage([]), gettext(
            "The list of files of this audit could not be read; the server's log has the reason."
        )
