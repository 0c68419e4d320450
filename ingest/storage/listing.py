import queue
import threading
import time
import uuid
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.compute as pc

from ingest.errors import Refused, words_of
from ingest.messages import message
from ingest.storage.directories import Directories, Entry, Kind, directories
from ingest.storage.identities import DirectoryName, VisitedDirectories, second_name
from ingest.storage.roots import Root
from ingest.storage.snapshots import (
    BAD_NAME,
    BEGUN,
    INSTANT,
    LINK,
    SCHEMA,
    Listed,
    Part,
    Progress,
    Snapshot,
    Unlisted,
)
from ingest.uris import PLAIN, BadUri, Spellings, canonical, canonical_column

ROWS_A_BATCH = 8_192
ROWS_A_PART = 1_000_000
SECONDS_A_PART = 20.0
RESUME_WITHIN = timedelta(hours=6)


def list_root(
    root: Root,
    out_dir: str,
    *,
    threads: int = 8,
    spellings: Spellings = PLAIN,
    at: datetime | None = None,
    visited: VisitedDirectories | None = None,
) -> Listed:
    """List ``root`` into ``out_dir``. An interrupted listing there is continued, a finished one
    returned. ``visited``: shared by all listings of an audit. Raises ``Refused`` if ``out_dir`` has
    other content.
    """
    snapshot = Snapshot(out_dir)
    listed = snapshot.listed()
    if listed is not None:
        if (listed.root, listed.read_at) != (root.uri, root.read_at):
            raise Refused(
                message(
                    "{out_dir:name} holds the listing of {root:name}; give another directory.",
                    out_dir=out_dir,
                    root=listed.root,
                )
            )
        return listed
    now = at or datetime.now(UTC)
    at = now.replace(microsecond=now.microsecond // 1000 * 1000)
    as_of, earlier_parts = _resume(snapshot, root, spellings, at)
    walk = _Walk(root, snapshot, spellings, earlier_parts, visited or VisitedDirectories())
    parts = walk.run(threads)
    return snapshot.finish(root.uri, root.read_at, as_of, parts)


def _resume(
    snapshot: Snapshot, root: Root, spellings: Spellings, at: datetime
) -> tuple[datetime, list[Progress]]:
    begun = snapshot.read_json(BEGUN)
    settings = {
        "root": root.uri,
        "read_at": root.read_at,
        "aliases": [list(pair) for pair in spellings.aliases],
    }
    if begun is not None and {name: begun.get(name) for name in settings} == settings:
        as_of = datetime.fromisoformat(begun["as_of"])
        if timedelta(0) <= at - as_of <= RESUME_WITHIN:
            return as_of, [part for _, part in snapshot.parts()]
    snapshot.begin(settings | {"as_of": at.isoformat()})
    return at, []


class _Walk:
    def __init__(
        self,
        root: Root,
        snapshot: Snapshot,
        spellings: Spellings,
        earlier_parts: list[Progress],
        visited: VisitedDirectories,
    ) -> None:
        self.root, self.snapshot, self.spellings = root, snapshot, spellings
        self.parts, self.visited = earlier_parts, visited
        finished = {directory for part in earlier_parts for directory in part.directories}
        listed_directories = {directory for part in earlier_parts for directory in part.found}
        self.queue: queue.LifoQueue[str | None] = queue.LifoQueue()  # None ends a thread
        for directory in ({""} | listed_directories) - finished:
            self.queue.put(directory)
        self.lock = threading.Lock()
        self.failure: BaseException | None = None

    def run(self, threads: int) -> list[Progress]:
        try:
            listable = directories(self.root.reading)
        except (OSError, ValueError, ImportError) as error:
            return [*self.parts, Progress(unlisted=[self._skip("", error)])]
        for directory in [directory for part in self.parts for directory in part.directories]:
            # Earlier parts have the result of these visits.
            with suppress(OSError):
                self.visited.visit(DirectoryName(self.root.uri, directory), listable)
        workers = [
            threading.Thread(
                target=self._work, args=(listable,), name=f"listing-{number}", daemon=True
            )
            for number in range(threads)
        ]
        for worker in workers:
            worker.start()
        try:
            self.queue.join()
        except BaseException as error:
            self.failure = error
            raise
        finally:
            for _ in workers:
                self.queue.put(None)
            for worker in workers:
                worker.join()
        if self.failure is not None:
            raise self.failure
        return self.parts

    def _work(self, listable: Directories) -> None:
        sink = _Sink(self)
        try:
            while (directory := self._next(sink)) is not None:
                try:
                    if self.failure is None:
                        self._list(listable, directory, sink)
                except BaseException as error:
                    self.failure = error
                finally:
                    self.queue.task_done()
            if self.failure is None:
                sink.end_part()
            else:
                sink.abandon()
        except BaseException as error:
            self.failure = error
            sink.abandon()

    def _next(self, sink: "_Sink") -> str | None:
        while True:
            try:
                return self.queue.get(timeout=SECONDS_A_PART)
            except queue.Empty:
                # Save this thread's rows: another thread may list a large directory for long.
                sink.end_part()

    def _list(self, listable: Directories, directory: str, sink: "_Sink") -> None:
        subdirectories: list[str] = []
        unlisted: list[Unlisted] = []
        try:
            directory_name = DirectoryName(self.root.uri, directory)
            other = self.visited.visit(directory_name, listable)
            if other is not None:
                unlisted.append(second_name(directory_name, other))
            for entry in listable.entries(directory):
                if self.failure is not None:
                    return
                name = f"{directory}/{entry.name}"
                if entry.kind is Kind.DIRECTORY:
                    subdirectories.append(name)
                elif entry.kind is Kind.FILE:
                    sink.add(name, entry)
                elif (skip := self._link(name, entry)) is not None:
                    unlisted.append(skip)
        except FileNotFoundError as error:
            # Flink deletes directories of checkpoints all the time, but not a root.
            if not directory:
                unlisted.append(self._skip(directory, error))
        except (OSError, ValueError) as error:
            unlisted.append(self._skip(directory, error))
        sink.end_directory(directory, subdirectories, unlisted)
        for name in subdirectories:
            self.queue.put(name)

    def _link(self, name: str, entry: Entry) -> Unlisted | None:
        try:
            link_name = canonical(self.root.uri.rstrip("/") + name, self.spellings)
            if entry.target is not None and link_name == canonical(entry.target, self.spellings):
                return None
        except BadUri:
            link_name = self.root.uri.rstrip("/") + name
        link_text = (
            message("a link to {target:name}", target=entry.target)
            if entry.target
            else message("a link")
        )
        detail = message(
            "It is {leads:message}, so files have a second name; declare it as an alias of that, "
            "or remove it.",
            leads=link_text,
        )
        try:
            target = canonical(entry.target or "", self.spellings)
        except BadUri:
            target = ""
        return Unlisted(_printable(link_name), LINK, _printable(detail), _printable(target))

    def _skip(self, directory: str, error: BaseException) -> Unlisted:
        return Unlisted(
            _printable(self.root.uri.rstrip("/") + directory or self.root.uri),
            "unlistable_directory",
            message(
                "It cannot be listed ({why:name}); check that it exists and that Weir may read it.",
                why=words_of(error),
            ),
        )


def _printable(name: str) -> str:
    """Flink writes no names that are not UTF-8: such files are shown, but never opened."""
    return name.encode("utf-8", "replace").decode()


class _Sink:
    def __init__(self, walk: _Walk) -> None:
        self.walk = walk
        self.reading = walk.root.reading.rstrip("/")
        self.uri = walk.root.uri.rstrip("/")
        self.rows: list[tuple[str, Entry]] = []
        self.part: Part | None = None
        self.opened = 0.0

    def add(self, name: str, entry: Entry) -> None:
        self.rows.append((name, entry))
        if len(self.rows) >= ROWS_A_BATCH:
            self._write()

    def end_directory(
        self, directory: str, directories: list[str], unlisted: list[Unlisted]
    ) -> None:
        progress = self._part().progress
        progress.directories.append(directory)
        progress.found += directories
        progress.unlisted += unlisted
        if (
            progress.files + len(self.rows) >= ROWS_A_PART
            or time.monotonic() - self.opened >= SECONDS_A_PART
        ):
            self.end_part()

    def end_part(self) -> None:
        self._write()
        part, self.part = self.part, None
        if part is not None:
            progress = part.close()
            with self.walk.lock:
                self.walk.parts.append(progress)

    def abandon(self) -> None:
        part, self.part = self.part, None
        if part is not None:
            part.abandon()

    def _part(self) -> Part:
        if self.part is None:
            self.part = Part(self.walk.snapshot, f"part-{uuid.uuid4().hex}.parquet")
            self.opened = time.monotonic()
        return self.part

    def _write(self) -> None:
        rows, self.rows = self.rows, []
        if not rows:
            return
        part = self._part()
        names = [_printable(name) for name, _ in rows]
        paths = canonical_column(pa.array([self.uri + name for name in names]), self.walk.spellings)
        batch = pa.record_batch(
            [
                pa.repeat(self.walk.root.uri, len(rows)),
                paths,
                pa.array([self.reading + name for name in names]),
                pa.array([entry.bytes for _, entry in rows], pa.int64()),
                pa.array([entry.modified for _, entry in rows], INSTANT),
                pa.array([entry.replication for _, entry in rows], pa.int64()),
            ],
            schema=SCHEMA,
        )
        if paths.null_count:
            detail = message(
                "Its name cannot be compared with references; rename it, or move it out of the root."
            )
            nameless = batch.column("listed_path").filter(pc.is_null(paths)).to_pylist()
            part.progress.unlisted += [Unlisted(name, BAD_NAME, detail) for name in nameless]
            batch = batch.filter(pc.is_valid(paths))
        part.write(batch)
