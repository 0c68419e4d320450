"""Copies files of a plan in batches, on executors or in threads of one process."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from ingest.errors import IngestError
from ingest.storage import tree
from ingest.storage.roots import Root
from ingest.uris import Spellings
from spark_jobs.replication.origin import Origin
from spark_jobs.replication.plan import Entry
from spark_jobs.replication.replica import Copied, Replica
from spark_jobs.replication.request import Request

FILES_A_BATCH = 200
BYTES_A_BATCH = 1 << 30
"""At most this much is copied again after a kill; a larger file is a batch by itself."""
THREADS = 4
MOST_FAILURES = 20
"""After this many failures, the other files of a batch are not tried."""


@dataclass(frozen=True)
class Failure:
    """``gone``: the origin no longer has the file."""

    path: str
    why: str
    gone: bool


Batch = Sequence[Entry]
CopyAll = Callable[[Request, int, Sequence[Batch]], Iterator[Sequence[Failure]]]
"""Copies the batches of a round in any order; yields the failures of ended batches."""


def batches(entries: Sequence[Entry]) -> Iterator[Batch]:
    batch: list[Entry] = []
    size = 0
    for entry in entries:
        if batch and (len(batch) >= FILES_A_BATCH or size + entry.bytes > BYTES_A_BATCH):
            yield batch
            batch, size = [], 0
        batch.append(entry)
        size += entry.bytes
    if batch:
        yield batch


def origin_of(request: Request) -> Origin:
    roots = [Root(uri, read_at) for uri, read_at in request.roots]
    return Origin(roots, Spellings(request.aliases), frozenset(request.withheld))


def copy_batch(request: Request, round_: int, batch: Batch) -> list[Failure]:
    """Copies a batch and records what was copied, even if some files failed."""
    origin, replica = origin_of(request), Replica(request)
    copied: list[Copied] = []
    failures: list[Failure] = []
    for entry in batch:
        try:
            copied.append(Copied(entry.name, entry.bytes, copy_file(origin, replica, entry)))
        except tree.Gone as error:
            failures.append(Failure(entry.path, str(error), True))
        except IngestError as error:
            failures.append(Failure(entry.path, str(error), False))
        if len(failures) >= MOST_FAILURES:
            break
    if copied:
        replica.write_copied(round_, copied)
    return failures


def copy_file(origin: Origin, replica: Replica, entry: Entry) -> str:
    """Returns the SHA-256 of the copy. Raises TreeError or Refused."""
    root, target = origin.root_of(entry.path), replica.at(entry.name)
    path, within = root.readable(entry.path), (root.reading, replica.reading)
    stat = tree.stat(path, root.reading)
    if entry.whole and stat.bytes != entry.bytes:
        raise tree.Changed(
            f"{entry.path} has {stat.bytes:,} bytes, and {entry.bytes:,} by its _metadata; "
            "nothing of it was copied."
        )
    try:
        return tree.copy_first(path, target, entry.bytes, within)
    except tree.Occupied:
        # Only this copy writes here, and a name always means one file: the present file is damaged.
        replica.remove(entry.name)
        return tree.copy_first(path, target, entry.bytes, within)


def in_threads(
    request: Request, round_: int, batches: Sequence[Batch]
) -> Iterator[Sequence[Failure]]:
    with ThreadPoolExecutor(THREADS, "replication") as pool:
        yield from pool.map(lambda batch: copy_batch(request, round_, batch), batches)
