"""Which ``_metadata`` the collector may read, and where: below registered roots, and what lies on its own machine."""

from django.conf import settings

from ingest.sources import MetadataSource
from webapp.storage.models import StorageRoot


def evidence_source() -> MetadataSource:
    """The same for all clusters: a job may have been restored from what another cluster wrote."""
    return MetadataSource(
        enabled=settings.WEIR.metadata_per_cycle > 0,
        roots=tuple(StorageRoot.objects.order_by("uri").values_list("uri", "read_at")),
        aliases=tuple(settings.WEIR.storage_aliases.items()),
        files_per_cycle=settings.WEIR.metadata_per_cycle,
        file_bytes=settings.WEIR.metadata_max_bytes,
    )
