"""Copies that HDFS keeps of each block, to derive raw bytes from totals. Object stores do not
report copies.

File sizes and all totals of Weir count each byte once; NameNodes and quotas count every copy. A
listing with replication by file (WebHDFS, a NameNode image, ``hdfs dfs -ls -R``) overrides the
declared factor.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models.fields.json import KT
from django.utils.translation import gettext

from webapp.fleet.models import JobCurrent
from webapp.lib.translations import gettext_lazy as _
from webapp.storage.models import StorageRoot
from webapp.storage.newest_audits import latest

REPLICATED = ("hdfs", "viewfs", "webhdfs")
OPTION = "flink.hadoop.dfs.replication"
"""Flink hands options with this prefix to its HDFS client without it."""
LISTED = _("as the listing says of each file")
DECLARE = _("Declare it in the settings of the root.")


@dataclass(frozen=True)
class ReplicationFactor:
    """``factor`` None: not known, or no matter of this storage; a mean where a listing tells files
    apart. ``why`` says where it is from, or what to do; "" if it is no matter.
    """

    factor: float | None
    why: str

    def raw(self, size: float | None) -> int | None:
        return None if size is None or self.factor is None else round(size * self.factor)


NONE = ReplicationFactor(None, "")


def factors_of(roots: Iterable[StorageRoot]) -> dict[str, ReplicationFactor]:
    """URI → factor, for roots with their clusters. Two queries at most: the second for HDFS roots
    without a listed or declared factor.
    """
    known = list(roots)
    listed = _listed_factors({root.uri for root in known if is_replicated(root.uri)})
    asked = {
        cluster.name
        for root in known
        if root.uri not in listed and root.replication is None and is_replicated(root.uri)
        for cluster in root.clusters.all()
    }
    configured: dict[str, set[int]] = {}
    if asked:
        rows = JobCurrent.objects.filter(
            cluster__in=asked, configuration__has_key=OPTION
        ).order_by()
        for cluster, text in rows.values_list("cluster", KT(f"configuration__{OPTION}")).distinct():
            configured.setdefault(cluster, set()).add(
                int(text) if str(text).isdecimal() and len(str(text)) < 4 else 0
            )
    return {root.uri: listed.get(root.uri) or _factor(root, configured) for root in known}


def factor_of(root: StorageRoot | None) -> ReplicationFactor:
    return factors_of([root])[root.uri] if root else NONE


def factors_by_uri(uris: Iterable[str]) -> dict[str, ReplicationFactor]:
    """Of registered roots; no query if none can be on HDFS."""
    replicated = [uri for uri in set(uris) if is_replicated(uri)]
    return (
        factors_of(StorageRoot.objects.prefetch_related("clusters").filter(uri__in=replicated))
        if replicated
        else {}
    )


def factor_of_path(path: str) -> ReplicationFactor:
    """Factor of the deepest registered root that contains the path."""
    if not is_replicated(path):
        return NONE
    roots = [
        root
        for root in StorageRoot.objects.prefetch_related("clusters")
        if path.startswith(f"{root.uri.rstrip('/')}/")
    ]
    return factor_of(max(roots, key=lambda root: len(root.uri), default=None))


def common(factors: Iterable[ReplicationFactor]) -> ReplicationFactor:
    """The factor of a sum over several roots, if they agree."""
    several = set(factors)
    if len(several) == 1:
        return several.pop()
    known = {factor.factor for factor in several}
    if len(known) == 1 and None not in known:
        return ReplicationFactor(known.pop(), gettext("as its roots have it"))
    return (
        ReplicationFactor(
            None, gettext("Raw bytes are unknown: replication factors of its roots differ.")
        )
        if known - {None}
        else NONE
    )


def is_replicated(uri: str) -> bool:
    return uri.partition(":")[0] in REPLICATED


def _listed_factors(uris: set[str]) -> dict[str, ReplicationFactor]:
    if not uris:
        return {}
    rows = (
        latest()
        .filter(root__in=uris, raw_bytes__isnull=False, bytes__gt=0)
        .values_list("root", "bytes", "raw_bytes")
    )
    return {root: _mean(size, raw) for root, size, raw in rows if raw is not None}


def _mean(size: int, raw: int) -> ReplicationFactor:
    if raw % size == 0:
        return ReplicationFactor(raw // size, LISTED)
    return ReplicationFactor(raw / size, gettext("on average, %(listed)s") % {"listed": LISTED})


def _factor(root: StorageRoot, configured: Mapping[str, set[int]]) -> ReplicationFactor:
    if root.replication is not None:
        return ReplicationFactor(root.replication, gettext("as declared for the root"))
    if not is_replicated(root.uri):
        return NONE
    configured_factors = set().union(
        *(configured.get(cluster.name, set()) for cluster in root.clusters.all())
    )
    if len(configured_factors) == 1 and 0 not in configured_factors:
        return ReplicationFactor(
            configured_factors.pop(),
            gettext("as %(option)s of its clusters says") % {"option": OPTION},
        )
    several = (
        gettext("its clusters differ")
        if configured_factors
        else gettext("neither listed, declared nor configured")
    )
    return ReplicationFactor(
        None,
        gettext("Raw bytes are unknown: the replication factor is %(several)s. %(declare)s")
        % {"several": several, "declare": DECLARE},
    )
