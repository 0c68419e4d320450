import os
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as TooSlow
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ingest import beneath
from ingest.cluster_run import ClusterRun, Shard
from ingest.errors import Skipped
from ingest.local_directories import listed_directory
from ingest.messages import message
from ingest.metadata.files import NAME, MetadataFile
from ingest.metadata.references import references
from ingest.metadata.snapshot_selection import SnapshotSelection
from ingest.metadata.snapshots import snapshot
from ingest.network.schemes import of_listed
from ingest.records import Observed, Record, Reference, Skip, Snapshot
from ingest.source_read import SourceRead
from ingest.sources import MetadataRoot, MetadataSource
from ingest.storage import tree
from ingest.storage.instants import modified_at
from ingest.storage.roots import Root, local_path
from ingest.uris import BadUri, Spellings, canonical, is_below

SOURCE = "metadata"
TRY_AGAIN_AFTER_S = 900
MOST_WAITING = 200
MOST_UNREACHABLE = 100
_NO_ROOT = (
    "it is below no registered storage root of this cluster; register the root to have it read"
)


class TooLarge(Skipped):
    pass


@dataclass(slots=True)
class EvidenceBudget:
    seconds: float = 20
    unanswered: set[str] = field(default_factory=set)

    def spend(self, since: float) -> None:
        self.seconds -= time.monotonic() - since


def read_snapshots(run: ClusterRun) -> SourceRead:
    observed, cursor = read_evidence(
        run.cluster.metadata,
        run.cluster.name,
        run.cursor_of(SOURCE),
        run.observed,
        run.shard.at(),
        run.shard.shared(_budget),
    )
    return SourceRead(tuple(observed), cursor)


def _budget(_shard: Shard) -> EvidenceBudget:
    return EvidenceBudget()


def read_evidence(
    source: MetadataSource,
    cluster: str,
    cursor: Mapping[str, Any],
    observed: Sequence[Observed],
    at: datetime,
    budget: EvidenceBudget | None = None,
) -> tuple[list[Observed], dict[str, Any]]:
    """Rows of the ``_metadata`` that new records of a cluster refer to, and the cursor for the next
    cycle. A file that cannot be read raises nothing.
    """
    selection = SnapshotSelection(cursor.get("jobs"))
    waiting = [str(path) for path in cursor.get("waiting") or ()]
    waiting = list(dict.fromkeys([*waiting, *selection.select(observed)]))[-MOST_WAITING:]
    files_left, records = source.files_per_cycle, list[Record]()
    unreachable = dict(cursor.get("reported") or {})
    reader = _Reader(source, cluster, unreachable, at.timestamp(), budget or EvidenceBudget())
    while waiting and files_left > 0 and reader.budget.seconds > 0:
        records += reader.read(waiting.pop(0))
        files_left -= 1
    observations = [Observed(cluster, at, SOURCE, tuple(records))] if records else []
    next_cursor = {
        "jobs": selection.remembered(at),
        "waiting": waiting,
        "reported": reader.newest_unreachable(),
    }
    return observations, {name: value for name, value in next_cursor.items() if value}


def rows_of(file: MetadataFile, most_bytes: int) -> list[Reference | Snapshot]:
    """Rows of the handles, of the file, and its snapshot. Raises ``MetadataError``, ``OSError`` or
    ``TooLarge``.
    """
    if file.size is not None and file.size > most_bytes:
        raise TooLarge(
            message(
                "It has {size:count} bytes, and at most {most_bytes:count} are read; raise "
                "the limit to read it.",
                size=file.size,
                most_bytes=most_bytes,
            )
        )
    rows = list(references(file))
    return [*rows, snapshot(rows)]


@dataclass
class _Reader:
    """``unreachable``: directory → last failure. Instants are in epoch s. Refused directories end
    with a slash.
    """

    source: MetadataSource
    cluster: str
    unreachable: dict[str, float]
    at: float
    budget: EvidenceBudget

    def newest_unreachable(self) -> dict[str, float]:
        return dict(sorted(self.unreachable.items(), key=lambda pair: pair[1])[-MOST_UNREACHABLE:])

    def read(self, snapshot: str) -> Iterable[Record]:
        try:
            directory = canonical(snapshot).removesuffix(f"/{NAME}")
        except BadUri as error:
            return [Skip(snapshot[:500], "bad_path", str(error))]
        base = directory.rsplit("/", 2)[0]
        try:
            location = self._locate(directory)
        except ValueError as error:
            # Another key, since other checkpoints below ``base`` may be readable.
            return self._skip_unreachable(base, directory, error, f"{base}/")
        last_tried = self.unreachable.get(base, 0)
        if base in self.budget.unanswered or last_tried > self.at - TRY_AGAIN_AFTER_S:
            return []
        started = time.monotonic()
        try:
            rows = self._rows_in_time(directory, *location)
        except Skipped as error:
            reason = "too_large" if isinstance(error, TooLarge) else "bad_metadata"
            return [Skip(f"{directory}/{NAME}", reason, str(error))]
        except Exception as error:  # storage clients raise errors of any type
            return self._skip_unreachable(base, directory, error)
        finally:
            self.budget.spend(started)
        self.unreachable.pop(base, None)
        return rows

    def _rows_in_time(
        self, directory: str, read_at: str, within: str
    ) -> list[Reference | Snapshot]:
        if "://" not in read_at:
            return self._rows(directory, read_at, within)
        # A storage client that does not answer keeps its thread, which nothing waits for.
        pool = ThreadPoolExecutor(1, "metadata")
        try:
            return pool.submit(self._rows, directory, read_at, within).result(
                timeout=self.budget.seconds
            )
        finally:
            pool.shutdown(wait=False, cancel_futures=True)

    def _locate(self, directory: str) -> tuple[str, str]:
        """Where to read the directory, and the root above: one registered for the cluster, or a
        listed directory. Else raises ``ValueError``, whether or not a file is there.
        """
        respelled = Spellings(self.source.aliases).apply(directory)
        roots_above = [root for root in self.source.roots if is_below(respelled, root.uri)]
        metadata_root = max(roots_above, key=lambda root: len(root.uri), default=None)
        if metadata_root is not None and self._is_of_cluster(metadata_root):
            root = Root(metadata_root.uri, metadata_root.read_at or None)
            return root.readable(respelled), root.reading
        if not directory.startswith("file:"):
            raise ValueError(_NO_ROOT)
        listed_folder = None if metadata_root else listed_directory(local_path(directory))
        resolved = os.path.realpath(local_path(directory)) if listed_folder else ""
        if listed_folder is None or self._is_of_other_cluster(resolved):
            raise ValueError(_NO_ROOT)
        return resolved, listed_folder

    def _is_of_cluster(self, root: MetadataRoot) -> bool:
        return not root.clusters or self.cluster in root.clusters

    def _is_of_other_cluster(self, path: str) -> bool:
        paths = (
            Root(root.uri, root.read_at or None).reading
            for root in self.source.roots
            if not self._is_of_cluster(root)
        )
        return any(
            "://" not in location and is_below(path, os.path.realpath(location))
            for location in paths
        )

    def _rows(self, directory: str, read_at: str, within: str) -> list[Reference | Snapshot]:
        path = f"{read_at}/{NAME}"
        # If the file is missing, Flink deleted it. If its parent is, Weir sees another storage.
        if "://" not in path:
            try:
                status = tree.stat(path, within)
            except tree.Gone:
                with beneath.open_folder(within, beneath.names_below(within, read_at)[:-1]):
                    return []
            size, modified = status.bytes, status.modified
        else:
            filesystem, name = of_listed(path)
            try:
                info = filesystem.info(name)
            except FileNotFoundError:
                if filesystem.exists(filesystem._parent(filesystem._parent(name))):
                    return []
                raise
            if info.get("type") != "file":
                raise ValueError(f"it is a {info.get('type')}")
            size, modified = info.get("size"), modified_at(info)
        file = MetadataFile(f"{directory}/{NAME}", size, modified, path, within)
        return rows_of(file, self.source.file_bytes)

    def _skip_unreachable(
        self, base: str, directory: str, error: Exception, key: str = ""
    ) -> list[Record]:
        is_reported = (key or base) in self.unreachable
        self.unreachable[key or base] = self.at
        why = str(error) or type(error).__name__
        if isinstance(error, TooSlow):
            self.budget.unanswered.add(base)
            why = message("it did not answer in time")
        detail = message(
            "{directory:name}/{name:text} cannot be read here ({why:text}); what restores and "
            "savepoints upload stays unknown.",
            directory=directory,
            name=NAME,
            why=why[:300],
        )
        return [] if is_reported else [Skip(base, "unreadable_metadata", detail)]
