from collections.abc import Hashable, Set

from ingest.storage.layout import METADATA_NAME
from webapp.cleanup.file_names import name_of
from webapp.fleet.models import JobCurrent
from webapp.lib.storage_uris import canonical_or_none


def restored_from(metadata: Set[str]) -> Set[Hashable]:
    """Restores (cluster, job id, instant) of jobs that have not ended, from these canonical
    ``_metadata`` under any name of their directories.
    """
    if not metadata:
        return set()
    names = {name_of(path) for path in metadata}
    jobs = JobCurrent.objects.exclude(terminal=True).filter(restored_path__isnull=False)
    rows = jobs.values_list("cluster", "job_id", "restored_at", "restored_path").iterator(2_000)
    return {
        (cluster, job_id, at)
        for cluster, job_id, at, path in rows
        if name_of(_metadata_of(path)) in names
    }


def _metadata_of(path: str | None) -> str:
    uri = canonical_or_none(path)
    return f"{uri.removesuffix(f'/{METADATA_NAME}')}/{METADATA_NAME}" if uri else ""
