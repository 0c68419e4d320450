"""Checkpoints of a job that was started from another's, as small real trees: incremental, with
segments, relative and inline state.
"""

import hashlib
import random
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from ingest.metadata.files import MetadataFile
from ingest.metadata.handles import handles
from spark_jobs.replication.request import Request
from tests.ingest.metadata import writing as w

JOB, EARLIER = "0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"


@dataclass
class World:
    """``root`` holds both jobs, ``copy`` is the destination. Everything comes of ``chance``."""

    folder: Path
    chance: random.Random
    version: int = 6
    shared: list[Path] = field(default_factory=list)
    merged: Path | None = None
    newest: int = 0
    retained: list[int] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.folder / "origin"

    @property
    def copy(self) -> Path:
        return self.folder / "copies" / "one"

    @property
    def request(self) -> Request:
        return Request(
            "copy-1",
            f"file:{self.root}/{JOB}",
            str(self.copy),
            None,
            ((f"file:{self.root}", None),),
        )

    def write(self, path: Path, size: int) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.chance.randbytes(size))
        return path

    def name(self) -> str:
        return str(uuid.UUID(int=self.chance.getrandbits(128)))

    def checkpoint(self) -> int:
        """One more: some shared files stay, some go, some are new; a merged file grows."""
        self.newest += self.chance.randint(1, 3)
        directory = self.root / JOB / f"chk-{self.newest}"
        self.shared = [path for path in self.shared if self.chance.random() < 0.8]
        for _ in range(self.chance.randint(0, 3)):
            owner = EARLIER if self.chance.random() < 0.3 else JOB
            self.shared.append(
                self.write(self.root / owner / "shared" / self.name(), self.chance.randint(0, 40))
            )
        files = {
            f"{number:06}.sst": w.file(path.stat().st_size, f"file:{path}")
            for number, path in enumerate(self.shared)
        }
        keyed = w.incremental(
            w.byte_stream(f"file:{directory}/inline", b"meta"),
            files,
            {"CURRENT": w.byte_stream("c", b"1")},
            new=True,
        )
        exclusive = self.write(directory / self.name(), self.chance.randint(1, 40))
        managed = w.partitionable(
            [("offsets", 1, [0])], w.relative(exclusive.name, exclusive.stat().st_size)
        )
        states = [w.subtask(self.version, 0, managed=managed, keyed=keyed)]
        if self.chance.random() < 0.7:
            states.append(w.subtask(self.version, 1, managed=self.segment()))
        written = w.metadata(
            self.version,
            [w.operator(self.version, states, name="op" if self.version >= 5 else "")],
            checkpoint=self.newest,
        )
        (directory / "_metadata").write_bytes(written)
        self.retained.append(self.newest)
        return self.newest

    def made(self) -> dict[int, list[bytes]]:
        """One more checkpoint: its id and what it holds."""
        return {self.checkpoint(): self.state()}

    def segment(self) -> bytes:
        if self.merged is None or self.chance.random() < 0.3:
            self.merged = self.write(
                self.root / JOB / "taskowned" / f"job_{JOB}_tm_1" / self.name(), 5
            )
        start, size = self.merged.stat().st_size, self.chance.randint(1, 20)
        with self.merged.open("ab") as out:
            out.write(self.chance.randbytes(size))
        segment = w.segment(start, size, 0, f"file:{self.merged}", "logical")
        return w.segment_partitionable(
            [], f"file:{self.merged.parent}", f"file:{self.root}/{JOB}/shared", segment, empty=False
        )

    def subsume(self) -> None:
        """The oldest goes, and what only it needed."""
        if len(self.retained) > 1:
            directory = self.root / JOB / f"chk-{self.retained.pop(0)}"
            needed = {
                path
                for number in self.retained
                for path, _ in state_of(self.root / JOB / f"chk-{number}" / "_metadata")
            }
            for path in directory.iterdir():
                path.unlink()
            directory.rmdir()
            for path in [
                path
                for path in self.root.rglob("shared/*")
                if path.is_file() and path not in needed
            ]:
                path.unlink()
            self.shared = [path for path in self.shared if path.exists()]

    def state(self) -> list[bytes]:
        return [
            content for _, content in state_of(self.root / JOB / f"chk-{self.newest}" / "_metadata")
        ]


def state_of(metadata: Path) -> list[tuple[Path, bytes]]:
    """Each stream of a checkpoint as a restore reads it, in order.

    Raises where one is missing or short.
    """
    found = []
    for handle in handles(MetadataFile(str(metadata)).pieces()):
        stream = handle.stream
        if stream is not None and stream.path is not None:
            path = Path(stream.path.removeprefix("file:"))
            content = path.read_bytes()[stream.offset or 0 :][: stream.bytes]
            assert len(content) == stream.bytes and (
                stream.offset is not None or path.stat().st_size == stream.bytes
            )
            found.append((path, content))
    return found


def copies(folder: Path) -> list[Path]:
    """Every ``_metadata`` that a restore could be given, newest last."""
    found = [path for path in folder.rglob("_metadata") if "_weir" not in path.parts]
    return sorted(found, key=lambda path: int(path.parent.name.split("-")[1]))


def tree_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        info = path.stat()
        digest.update(f"{path} {info.st_mode} {info.st_mtime_ns} {info.st_size}".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()
