from ingest.metadata.files import MetadataFile
from spark_jobs.diagnosis.preflight.subjects import Snapshot
from webapp.analyses.recovery import preflight


def snapshot_in(file: MetadataFile) -> Snapshot:
    """What ``preflight`` reads of a ``_metadata``, before a job is compared with it."""
    return preflight._with_files(preflight._read(file), file)
