"""Checkpoint storage on a real disk: jobs, chains, orphans and waste, judged by a plain reckoning
of a few lines.
"""

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ingest.metadata.files import MetadataFile
from ingest.metadata.references import references
from tests.ingest.metadata import writing as w
from tests.storage_places import place_of
from webapp.cleanup.entries import SCHEMA, VERDICT_COLUMNS
from webapp.cleanup.recheck import FreshAudit

NOW = datetime(2026, 3, 1, 4, 10, tzinfo=UTC)
GUARD = timedelta(hours=72)
OLD = NOW - timedelta(days=30)
_SCHEMA = pa.schema([("audit_id", pa.string()), *(SCHEMA.field(name) for name in VERDICT_COLUMNS)])


def name_of_job(number: int) -> str:
    return f"{number:032x}"


@dataclass
class World:
    """``waste`` are directories of checkpoints that nobody needs. Everything else is judged from
    what lies on the disk.

    References name where the files were written. ``named`` is what the root is called instead, ""
    for the same.
    """

    root: Path
    random: Random = field(default_factory=Random)
    waste: set[Path] = field(default_factory=set)
    reasons: list[str] = field(default_factory=list)
    removed_by_others: set[Path] = field(default_factory=set)
    audits: int = 0
    named: str = ""

    @property
    def uri(self) -> str:
        return self.named or f"file:{self.root}"

    def uri_of(self, path: Path) -> str:
        return self.uri + str(path)[len(str(self.root)) :]

    def by_another_name(self, root: Path, named: str = "") -> "World":
        """The same directory as an audit sees it that does not know: nothing refers to a file by
        this name.
        """
        waste = {root / folder.relative_to(self.root) for folder in self.waste}
        return World(
            root, self.random, waste, named=named, removed_by_others=self.removed_by_others
        )

    @property
    def quarantine(self) -> Path:
        return self.root.with_name(f"{self.root.name}.weir-quarantine")

    def job(self, number: int) -> Path:
        return self.root / name_of_job(number)

    def file(self, folder: Path, *, at: datetime = OLD, size: int | None = None) -> Path:
        """A file with a name that Flink might give."""
        path = folder / str(uuid.UUID(int=self.random.getrandbits(128)))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            self.random.randbytes(self.random.randrange(1, 200) if size is None else size)
        )
        date(path, at)
        return path

    def checkpoint(
        self, job: int, number: int, files: list[Path], *, at: datetime = OLD, waste: bool = False
    ) -> Path:
        """``_metadata`` that refers to the files; returns its directory."""
        folder = self.job(job) / f"chk-{number}"
        self.snapshot(folder, number, files, at=at)
        if waste:
            self.waste.add(folder)
        return folder

    def savepoint(self, name: str, files: list[Path], *, at: datetime = OLD) -> Path:
        """One that refers to files elsewhere; returns its directory."""
        return self.snapshot(self.root / name, 1, files, at=at)

    def snapshot(self, folder: Path, number: int, files: list[Path], *, at: datetime) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        shared = {
            f"{place:06}.sst": w.file(path.stat().st_size, f"file:{path}")
            for place, path in enumerate(files)
        }
        state = w.incremental(w.byte_stream("meta", b"meta"), shared, {}, new=True)
        (folder / "_metadata").write_bytes(
            w.metadata(4, [w.operator(4, [w.subtask(4, 0, keyed=state)])], checkpoint=number)
        )
        date(folder / "_metadata", at)
        return folder

    def all_files(self) -> list[Path]:
        return sorted(
            path for path in self.root.rglob("*") if path.is_file() and not path.is_symlink()
        )

    def referred(self, *, needed_only: bool = False) -> dict[str, str]:
        """Canonical path → a ``_metadata`` that refers to it."""
        found: dict[str, str] = {}
        for metadata in self.root.rglob("_metadata"):
            if needed_only and metadata.parent in self.waste:
                continue
            found.update(dict.fromkeys(refers_to(metadata), self.uri_of(metadata)))
        return found

    def unresolved(self) -> list[str]:
        """What any checkpoint that is there refers to and that is not there, but for what others
        removed.
        """
        paths = {path: Path(path.removeprefix("file:")) for path in self.referred()}
        return [
            uri
            for uri, path in paths.items()
            if not path.exists() and path.resolve() not in self.removed_by_others
        ]

    def verdicts(self, at: datetime = NOW) -> list[dict[str, Any]]:
        """Of all files that are not live, sorted by path."""
        needed, referred = self.referred(needed_only=True), self.referred()
        rows = []
        for path in self.all_files():
            uri, found = self.uri_of(path), path.stat()
            placed = place_of(uri)
            modified = datetime.fromtimestamp(found.st_mtime_ns // 1_000_000 / 1000, UTC)
            if uri in needed or (path.name == "_metadata" and path.parent not in self.waste):
                continue
            verdict, reason = "kept", "unknown_name"
            if path.name == "_metadata" or uri in referred:
                verdict, reason = "retained_waste", "superseded"
            elif placed.place in ("exclusive", "shared"):
                verdict, reason = (
                    ("orphan", "unreferenced") if modified < at - GUARD else ("recent", "age_guard")
                )
            rows.append(
                {
                    "root": self.uri,
                    "path": uri,
                    "listed_path": str(path),
                    "bytes": found.st_size,
                    "modified": modified,
                    "first_seen_at": min(modified, at),
                    "verdict": verdict,
                    "reason": reason,
                    "kind": "unknown" if verdict == "orphan" else None,
                    "place": placed.place,
                    "cluster": "prod",
                    "job_id": placed.job_id,
                    "checkpoint_id": placed.checkpoint_id,
                    "unreferenced_since": at - timedelta(hours=12) if verdict == "orphan" else None,
                    "last_referrer": None,
                }
            )
        return rows

    def audit(self, folder: Path, at: datetime = NOW) -> FreshAudit:
        """What an audit of the disk as it is now says."""
        self.audits += 1
        name = f"audit-{self.audits}-{uuid.uuid4().hex[:6]}"
        verdicts = write_verdicts(folder / name / "files", self.verdicts(at), name)
        references = [
            {"audit_id": name, "metadata_path": self.uri_of(metadata), "path": path}
            for metadata in self.root.rglob("_metadata")
            for path in refers_to(metadata)
        ]
        table = pa.Table.from_pylist(
            references,
            pa.schema([(column, pa.string()) for column in ("audit_id", "metadata_path", "path")]),
        )
        pq.write_table(table, folder / name / "references.parquet")
        blocked = {self.uri: tuple(self.reasons)} if self.reasons else {}
        return FreshAudit(name, at, verdicts, [str(folder / name / "references.parquet")], blocked)


def write_verdicts(
    folder: Path,
    rows: list[dict[str, Any]],
    audit_id: str,
    parts: int = 2,
    *,
    in_order: bool = True,
) -> list[str]:
    """Sorted Parquet parts, named so that their names do not sort."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = sorted(rows, key=lambda row: (row["root"], row["path"])) if in_order else rows
    size = -(-len(rows) // parts) or 1
    files = []
    for part in range(parts):
        own = [{"audit_id": audit_id} | row for row in rows[part * size : (part + 1) * size]]
        path = folder / f"part-{parts - part}.parquet"
        pq.write_table(pa.Table.from_pylist(own, _SCHEMA), path)
        files.append(str(path))
    return files


def refers_to(metadata: Path) -> set[str]:
    return {row.path for row in references(MetadataFile(str(metadata))) if row.path}


def date(path: Path, at: datetime) -> None:
    os.utime(path, (at.timestamp(), at.timestamp()))


def chain(world: World, jobs: int = 3) -> Iterator[Path]:
    """Jobs restored one from the other, each with own and inherited files, orphans and young files;
    yields the checkpoints.
    """
    inherited: list[Path] = []
    for number in range(1, jobs + 1):
        own = [
            world.file(world.job(number) / "shared") for _ in range(world.random.randrange(1, 6))
        ]
        kept = [path for path in inherited if world.random.random() < 0.6]
        is_waste = number < jobs and world.random.random() < 0.4
        yield world.checkpoint(number, 10 * number, own + kept, waste=is_waste)
        for _ in range(world.random.randrange(0, 6)):
            world.file(world.job(number) / "shared")
        for _ in range(world.random.randrange(0, 3)):
            world.file(world.job(number) / f"chk-{10 * number + 1}")
        for _ in range(world.random.randrange(0, 3)):
            world.file(
                world.job(number) / "shared",
                at=NOW - timedelta(hours=world.random.randrange(1, 60)),
            )
        world.file(world.root / "recovery" / "default")
        inherited = own + kept


def random_world(root: Path, seed: int) -> World:
    world = World(root, Random(seed))
    list(chain(world, world.random.randrange(1, 5)))
    return world
