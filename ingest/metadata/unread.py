import hashlib
import re
from dataclasses import dataclass

from ingest.json_bounds import decoded
from ingest.metadata.dialects import MAGIC
from ingest.metadata.files import MetadataFile

HEAD_BYTES = 4096
MOST_JSON_BYTES = 1 << 20
MOST_SCANNED_BYTES = 4 << 30
_CHUNK_BYTES = 1 << 20
_HOLE = bytes(512)
_PARQUET = b"PAR1"
_SHORTEST_PARQUET_BYTES = 12
_JOB = re.compile(rb"/([0-9a-f]{32})(?=/)")


@dataclass(frozen=True)
class Content:
    """What is known of a file that cannot be parsed. ``named_jobs``: jobs whose directories occur
    in the file; None if it is too long or has a hole. ``is_foreign``: it is a complete Parquet or
    JSON file. ``has_magic``: it begins with Flink's magic number.
    """

    bytes: int
    head_sha256: str
    has_magic: bool
    is_foreign: bool
    named_jobs: tuple[str, ...] | None


def content_of(file: MetadataFile) -> Content:
    hasher, size, jobs, tail = hashlib.sha256(), 0, set[bytes](), b""
    first, last, has_no_hole = b"", b"", True
    with file.open() as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            if size < HEAD_BYTES:
                hasher.update(chunk[: HEAD_BYTES - size])
            size += len(chunk)
            if size > MOST_SCANNED_BYTES:
                break
            first = first if len(first) >= MOST_JSON_BYTES else first + chunk
            last = (last + chunk)[-8:]
            scanned = tail + chunk
            jobs.update(_JOB.findall(scanned))
            has_no_hole = has_no_hole and _HOLE not in scanned
            tail = scanned[-len(_HOLE) :]
    # If the listing has another length, the file was replaced or is being written.
    is_complete = file.size == size
    return Content(
        size,
        hasher.hexdigest(),
        first[:4] == MAGIC.to_bytes(4, "big"),
        is_complete and (_is_parquet(first, last, size) or _is_json(first, size)),
        tuple(sorted(name.decode() for name in jobs))
        if has_no_hole and size <= MOST_SCANNED_BYTES
        else None,
    )


def _is_parquet(first: bytes, last: bytes, size: int) -> bool:
    footer_bytes = int.from_bytes(last[:4], "little")
    return (
        size >= _SHORTEST_PARQUET_BYTES
        and first[:4] == _PARQUET == last[4:]
        and 0 < footer_bytes <= size - _SHORTEST_PARQUET_BYTES
    )


def _is_json(first: bytes, size: int) -> bool:
    if size > MOST_JSON_BYTES or first.lstrip()[:1] not in (b"{", b"["):
        return False
    try:
        decoded(first)
    except (ValueError, RecursionError):
        return False
    return True
