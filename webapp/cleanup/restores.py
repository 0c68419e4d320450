from collections.abc import Hashable, Set

from ingest.storage.layout import METADATA_NAME
from ingest.uris import BadUri, Spellings, canonical
from webapp.cleanup.file_names import name_of
from webapp.fleet.models import JobCurrent
from webapp.storage.auditing import audit_request


def restored_from(metadata: Set[str]) -> Set[Hashable]:
    """Restores (cluster, job id, instant) of jobs that have not ended, from these canonical
    ``_metadata`` under any name of their directories.
    """
    if not metadata:
        return set()
    spellings, names = audit_request.spellings(), {name_of(path) for path in metadata}
    jobs = JobCurrent.objects.exclude(terminal=True).filter(restored_path__isnull=False)
    rows = jobs.values_list("cluster", "job_id", "restored_at", "restored_path").iterator(2_000)
    return {
        (cluster, job_id, at)
        for cluster, job_id, at, path in rows
        if path and name_of(_metadata_of(path, spellings)) in names
    }


def _metadata_of(path: str, spellings: Spellings) -> str:
    try:
        return f"{canonical(path, spellings).removesuffix(f'/{METADATA_NAME}')}/{METADATA_NAME}"
    except BadUri:
        return ""
