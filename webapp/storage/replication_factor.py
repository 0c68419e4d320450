"""How many copies a storage keeps of each block: what raw bytes a total comes to. Of HDFS alone; object stores do not say what they keep.

Sizes of files, and so all totals of Weir, count each byte once. NameNodes and quotas count it as often as it is stored.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models.fields.json import KT

from webapp.fleet.models import JobCurrent
from webapp.storage.models import StorageRoot

REPLICATED = ("hdfs", "viewfs", "webhdfs")
OPTION = "flink.hadoop.dfs.replication"
"""Flink hands options with this prefix to its HDFS client without it."""


@dataclass(frozen=True)
class ReplicationFactor:
    """``factor`` None: not known, or no matter of this storage; ``why`` says where it is from, or what to do; "" where it is no matter."""

    factor: int | None
    why: str

    def raw(self, size: int | None) -> int | None:
        return None if size is None or self.factor is None else size * self.factor


NONE = ReplicationFactor(None, "")


def factors_of(roots: Iterable[StorageRoot]) -> dict[str, ReplicationFactor]:
    """By URI; of roots with their clusters. One query, for HDFS whose factor is not declared."""
    known = list(roots)
    asked = {cluster.name for root in known if root.replication is None and _is_replicated(root.uri) for cluster in root.clusters.all()}
    configured: dict[str, set[int]] = {}
    if asked:
        rows = JobCurrent.objects.filter(cluster__in=asked, configuration__has_key=OPTION).order_by()
        for cluster, text in rows.values_list("cluster", KT(f"configuration__{OPTION}")).distinct():
            configured.setdefault(cluster, set()).add(int(text) if str(text).isdecimal() and len(str(text)) < 4 else 0)
    return {root.uri: _factor(root, configured) for root in known}


def factor_of(root: StorageRoot | None) -> ReplicationFactor:
    return factors_of([root])[root.uri] if root else NONE


def _factor(root: StorageRoot, configured: Mapping[str, set[int]]) -> ReplicationFactor:
    if root.replication is not None:
        return ReplicationFactor(root.replication, "as declared for the root")
    if not _is_replicated(root.uri):
        return NONE
    found = set().union(*(configured.get(cluster.name, set()) for cluster in root.clusters.all()))
    if len(found) == 1 and 0 not in found:
        return ReplicationFactor(found.pop(), f"as {OPTION} of its clusters says")
    several = "its clusters differ" if found else "neither declared nor configured"
    return ReplicationFactor(None, f"Raw bytes are unknown: the replication factor is {several}. Declare it in the settings of the root.")


def _is_replicated(uri: str) -> bool:
    return uri.partition(":")[0] in REPLICATED
