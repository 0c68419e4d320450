"""Heap of NameNodes that the files and blocks of checkpoints take, by root and by job: an estimate,
of the newest audits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.db.models import Sum

from ingest.uris import BadUri, canonical
from spark_jobs.filesystem_calls.namenode_heap import Namespace, small_heap_bytes
from webapp.fleet.models import JobCurrent
from webapp.replication.storages import storage_of
from webapp.storage.auditing.audit_request import spellings
from webapp.storage.models import JobStorage, RootFigures, StorageRoot
from webapp.storage.namenodes import NameNode
from webapp.storage.newest_audits import latest

SCHEMES = ("hdfs:", "viewfs:", "webhdfs:", "swebhdfs:")
MOST_JOBS, MOST_PATHS = 50, 1_000


@dataclass(frozen=True)
class RootMemory:
    """``namenode``: None where it is not known which one has this root. ``small_files``: of at most
    1 MiB, ``_metadata`` left out.
    """

    root: str
    namespace: Namespace
    namenode: NameNode | None
    small_files: int

    @property
    def share(self) -> float | None:
        """Of all files, directories and blocks of its NameNode; audits count no directories."""
        node = self.namenode
        if node is None or node.files is None or node.blocks is None:
            return None
        total = node.files + node.blocks
        return min(1.0, self.namespace.objects / total) if total else None

    @property
    def most_heap_bytes(self) -> float | None:
        """Its share of the heap in use, which holds more than files and blocks."""
        used = self.namenode.heap_used_bytes if self.namenode else None
        return None if used is None or self.share is None else used * self.share

    @property
    def small_heap_bytes(self) -> int:
        return small_heap_bytes(self.small_files)


@dataclass(frozen=True)
class NameNodeMemory:
    """``roots`` and ``jobs``: most files first; ``jobs``: the first of ``job_count``."""

    roots: Sequence[RootMemory]
    jobs: Sequence[JobStorage]
    job_count: int


def namenode_memory(known: Sequence[NameNode]) -> NameNodeMemory:
    """Of roots on HDFS. ``known``: NameNodes whose JMX answered."""
    figures = [row for row in latest() if row.root.startswith(SCHEMES)]
    if not figures:
        return NameNodeMemory((), (), 0)
    audits = {_of_audit(row) for row in figures}
    rows = JobStorage.objects.filter(
        audit__in={audit for audit, _root in audits}, root__in={root for _audit, root in audits}
    )
    small = {
        (str(row["audit_id"]), row["root"]): row["small"]
        for row in rows.order_by().values("audit_id", "root").annotate(small=Sum("small_files"))
    }
    nodes = _by_storage(known)
    roots = [
        RootMemory(
            row.root,
            Namespace(row.files, row.bytes),
            nodes.get(storage_of(row.root)),
            small.get(_of_audit(row)) or 0,
        )
        for row in figures
    ]
    # Of a root that was audited alone since, an older audit has rows, too.
    jobs = [
        row for row in rows.order_by("-files", "id")[: MOST_JOBS * 2] if _of_audit(row) in audits
    ]
    return NameNodeMemory(
        sorted(roots, key=lambda one: -one.namespace.files), jobs[:MOST_JOBS], rows.count()
    )


def _of_audit(row: RootFigures | JobStorage) -> tuple[str, str]:
    return str(row.audit_id), row.root


def _by_storage(known: Sequence[NameNode]) -> Mapping[str, NameNode]:
    nodes: dict[str, NameNode] = {}
    for node in known:
        roots = StorageRoot.objects.filter(clusters__name=node.cluster)
        jobs = JobCurrent.objects.filter(cluster=node.cluster).exclude(last_completed_path=None)
        paths = [
            *roots.values_list("uri", flat=True),
            *jobs.order_by("-id").values_list("last_completed_path", flat=True)[:MOST_PATHS],
        ]
        storages = {storage for path in paths if (storage := _storage(path or ""))}
        if len(storages) == 1:
            nodes.setdefault(storages.pop(), node)
    return nodes


def _storage(path: str) -> str:
    try:
        uri = canonical(path, spellings())
    except BadUri:
        return ""
    return storage_of(uri) if uri.startswith(SCHEMES) else ""
