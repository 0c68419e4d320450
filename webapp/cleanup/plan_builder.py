"""Builds a plan from an audit's verdicts as sorted Parquet parts, of which one is in memory.

1. The ``_metadata`` of waste checkpoints come first: without them nothing refers to their files.
2. All other files follow in the order of roots and paths.
3. The manifest, with the SHA-256 of each part, is written last; without it there is no plan.
"""

import hashlib
import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ingest.storage.plan_folder import PlanFolder
from webapp.cleanup import manifest as manifests
from webapp.cleanup.entries import CHUNK_ROWS, ORPHAN, PART_ROWS, SCHEMA, WASTE
from webapp.cleanup.file_names import places_of
from webapp.cleanup.manifest import (
    PartEntry,
    PlanManifest,
    PlannedRoot,
    QuotedStatement,
    SearchedAudit,
    WithheldRoot,
)
from webapp.cleanup.proof import ProofRequirements, is_metadata
from webapp.cleanup.quarantine import refuse_unsafe
from webapp.cleanup.verdicts import batches
from webapp.lib.instants import iso_text

MOST_FILES = 5_000_000
"""The next plan has the remaining files. Hashes of all names are in memory to check new
checkpoints, 8 bytes each.
"""

Say = Callable[[str], None]


@dataclass(frozen=True)
class PlanRequest:
    """``roots`` may be cleaned, ``withheld`` may not; ``searched_roots`` are all roots that the
    audit has read. ``audits`` found no referrer, the newest last: its listing began at ``as_of``.
    """

    verdict_files: Sequence[str]
    audit_id: str | None
    audits: Sequence[SearchedAudit]
    as_of: datetime
    age_guard: timedelta
    searched_roots: Sequence[str]
    roots: Sequence[PlannedRoot]
    withheld: Sequence[WithheldRoot]
    created_at: datetime
    created_by: str
    lifetime: timedelta
    grace: timedelta
    waste: bool = False
    also_scanned: Sequence[str] = ()
    statements: Sequence[QuotedStatement] = ()
    """Statements on dead jobs; the plan quotes the statements that its files depend on."""
    most_files: int = MOST_FILES

    @property
    def verdicts(self) -> tuple[str, ...]:
        return (ORPHAN, WASTE) if self.waste else (ORPHAN,)


def build(
    request: PlanRequest, folder: PlanFolder, say: Say = lambda line: None
) -> tuple[str, PlanManifest]:
    """Name and manifest of the plan, which may have no files. Raises :class:`PlanRefused`."""
    refuse_unsafe(request.roots, request.searched_roots, request.also_scanned)
    requirements = ProofRequirements(
        request.as_of,
        request.age_guard,
        request.verdicts,
        {root.uri: root.read_at for root in request.roots},
    )
    writer = _Writer(
        folder, request.most_files, say, [statement.subject for statement in request.statements]
    )
    if request.waste:
        for rows in _planned_rows(request, requirements, writer, metadata=True):
            writer.add(rows)
    writer.finish_part()
    metadata_parts = len(writer.parts)
    for rows in _planned_rows(request, requirements, writer, metadata=False):
        writer.add(rows)
    writer.finish_part()
    manifest = PlanManifest(
        created_at=iso_text(request.created_at),
        created_by=request.created_by,
        expires_at=iso_text(request.created_at + request.lifetime),
        age_guard_h=int(request.age_guard.total_seconds() // 3600),
        grace_s=int(request.grace.total_seconds()),
        verdicts=request.verdicts,
        audits=tuple(request.audits),
        searched_roots=tuple(request.searched_roots),
        roots=tuple(
            replace(root, files=writer.files[root.uri], bytes=writer.bytes[root.uri])
            for root in request.roots
        ),
        withheld_roots=tuple(request.withheld),
        withheld_files=dict(sorted(writer.withheld.items())),
        statements=tuple(
            statement for statement in request.statements if statement.subject in writer.rests_on
        ),
        parts=tuple(writer.parts),
        metadata_parts=metadata_parts,
    )
    content = manifest.to_bytes()
    folder.write(manifests.FILE_NAME, content)
    return manifests.name_of(content), manifest


def _planned_rows(
    request: PlanRequest, requirements: ProofRequirements, writer: "_Writer", *, metadata: bool
) -> Iterator[pa.RecordBatch]:
    """Rows of ``_metadata``, or all others. Files with the same canonical path are left out."""
    for batch in _without_doubles(
        batches(request.verdict_files, request.audit_id),
        writer.withheld if not metadata else Counter(),
    ):
        rows, withheld = requirements.sift(batch)
        if not metadata:
            writer.withheld.update(withheld)
        yield rows.filter(is_metadata(rows) if metadata else pc.invert(is_metadata(rows)))


def _without_doubles(
    source: Iterator[pa.RecordBatch], withheld: Counter[str]
) -> Iterator[pa.RecordBatch]:
    """Delays rows of a batch's last path until the start of the next batch is known."""
    delayed: pa.RecordBatch | None = None
    for batch in source:
        joined = batch
        if delayed is not None:
            joined = pa.Table.from_batches([delayed, batch]).combine_chunks().to_batches()[0]
        same = pc.and_(
            pc.equal(joined["path"][:-1], joined["path"][1:]),
            pc.equal(joined["root"][:-1], joined["root"][1:]),
        )
        false = pa.array([False])
        is_double = pc.or_(pa.concat_arrays([same, false]), pa.concat_arrays([false, same]))

        is_last = pc.and_(
            pc.equal(joined["path"], joined["path"][-1]),
            pc.equal(joined["root"], joined["root"][-1]),
        )
        delayed = joined.filter(is_last)
        yield _drop_doubles(joined, is_double, pc.invert(is_last), withheld)
    if delayed is not None:
        yield _drop_doubles(
            delayed,
            pa.repeat(delayed.num_rows > 1, delayed.num_rows),
            pa.repeat(True, delayed.num_rows),
            withheld,
        )


def _drop_doubles(
    rows: pa.RecordBatch, is_double: pa.Array, is_complete: pa.Array, withheld: Counter[str]
) -> pa.RecordBatch:
    """Complete rows without doubles, which are counted."""
    doubles = pc.sum(pc.and_(is_double, is_complete)).as_py() or 0
    if doubles:
        withheld["two_files_of_one_name"] += doubles
    return rows.filter(pc.and_(is_complete, pc.invert(is_double)))


@dataclass
class _Writer:
    folder: PlanFolder
    most_files: int
    say: Say
    attested: Sequence[str]
    rests_on: set[str] = field(default_factory=set)
    parts: list[PartEntry] = field(default_factory=list)
    files: Counter[str] = field(default_factory=Counter)
    bytes: Counter[str] = field(default_factory=Counter)
    withheld: Counter[str] = field(default_factory=Counter)
    _rows: list[pa.RecordBatch] = field(default_factory=list)
    _part_rows: int = 0
    _total: int = 0

    def add(self, rows: pa.RecordBatch) -> None:
        room = self.most_files - self._total
        if rows.num_rows > room:
            self.withheld["more_than_a_plan_holds"] += rows.num_rows - room
            rows = rows.slice(0, room)
        self._total += rows.num_rows
        while rows.num_rows:
            fitting = rows.slice(0, PART_ROWS - self._part_rows)
            rows = rows.slice(fitting.num_rows)
            self._rows.append(fitting)
            self._part_rows += fitting.num_rows
            if self._part_rows == PART_ROWS:
                self.finish_part()

    def finish_part(self) -> None:
        if not self._part_rows:
            return
        table = pa.Table.from_batches(self._rows, SCHEMA)
        if self.attested:
            self.rests_on.update(places_of(table["path"], self.attested))
        self._rows, self._part_rows = [], 0
        out = io.BytesIO()
        pq.write_table(table, out, row_group_size=CHUNK_ROWS, compression="zstd")
        content = out.getvalue()
        name = f"part-{len(self.parts):05}.parquet"
        self.folder.write(name, content)
        size = pc.sum(table["bytes"]).as_py()
        ends = (table["path"][0].as_py(), table["path"][-1].as_py())
        self.parts.append(
            PartEntry(name, table.num_rows, size, hashlib.sha256(content).hexdigest(), *ends)
        )
        for group in (
            table.group_by("root").aggregate([("bytes", "sum"), ("bytes", "count")]).to_pylist()
        ):
            self.files[group["root"]] += group["bytes_count"]
            self.bytes[group["root"]] += group["bytes_sum"]
        self.say(f"planned {self._total:,} files")
