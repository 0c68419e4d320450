"""What the lake has of a checkpoint whose ``_metadata`` an audit read."""

from ingest.metadata.reader import READER_VERSION
from ingest.records import Reference


def metadata_of(job_id: str) -> tuple[Reference, ...]:
    """What an audit read of a checkpoint of 80 small states in files of their own, and two
    inline.
    """
    directory, size = f"hdfs://nn1/flink/{job_id}/chk-29", 9_000
    read = (f"{directory}/_metadata", size, None, READER_VERSION)
    of = {"job_id": job_id, "checkpoint_id": 29, "operator_id": "a" * 32, "kind": "managed-op"}
    apart = (
        Reference(
            *read,
            number,
            **of,
            subtask=number % 8,
            path=f"{directory}/{number}",
            size_bytes=21_000 + number**3,
        )
        for number in range(1, 81)
    )
    inline = (
        Reference(*read, number, **of, subtask=number % 8, inline_at=number, size_bytes=800)
        for number in (81, 82)
    )
    return (
        *apart,
        *inline,
        Reference(*read, 0, job_id=job_id, checkpoint_id=29, kind="file", handles=82),
    )
