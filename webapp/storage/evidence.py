"""Which ``_metadata`` the collector may read for a cluster, and where: below roots that are
registered for it.
"""

from django.conf import settings

from ingest.sources import MetadataRoot, MetadataSource
from webapp.storage.models import StorageRoot


def evidence_source() -> MetadataSource:
    """The same for all clusters, with whose each root is: a cluster names the paths, and nothing of
    another's root is read for it.

    A job that was restored from what another cluster wrote: the root is registered for both, or for
    none.
    """
    roots = StorageRoot.objects.order_by("uri").prefetch_related("clusters")
    return MetadataSource(
        enabled=settings.WEIR.metadata_per_cycle > 0,
        roots=tuple(
            MetadataRoot(
                root.uri,
                root.read_at,
                tuple(sorted(cluster.name for cluster in root.clusters.all())),
            )
            for root in roots
        ),
        aliases=tuple(settings.WEIR.storage_aliases.items()),
        files_per_cycle=settings.WEIR.metadata_per_cycle,
        file_bytes=settings.WEIR.metadata_max_bytes,
    )
