"""Settings of a job that decide about its files, under the names that its version of Flink reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ingest.flink_rest.versions import release
from spark_jobs.filesystem_calls.inlining import DEFAULT_BYTES
from spark_jobs.filesystem_calls.merging import LARGEST_FILE_BYTES, THREADS
from webapp.lib.flink_values import size_bytes, whole

MERGING = "execution.checkpointing.file-merging.enabled"
_LARGEST_FILE = "execution.checkpointing.file-merging.max-file-size"
_THRESHOLD = ("state.storage.fs.memory-threshold", "execution.checkpointing.data-inline-threshold")
_RETAINED = ("state.checkpoints.num-retained", "execution.checkpointing.num-retained")
_THREADS = "state.backend.rocksdb.checkpoint.transfer.thread.num"
_RENAMED_IN, _MERGES_SINCE = (1, 20), (1, 20)


@dataclass(frozen=True)
class FileSettings:
    """As the cluster has them, else Flink's defaults; a job may have others.

    ``can_merge``: None where the version is unknown.
    """

    threshold_key: str
    threshold_bytes: int
    retained: int
    threads: int
    largest_file_bytes: int
    can_merge: bool | None


def file_settings(version: str | None, configuration: Mapping[str, Any] | None) -> FileSettings:
    known, of = configuration or {}, release(version)
    return FileSettings(
        _THRESHOLD[of is None or of[:2] >= _RENAMED_IN],
        next(
            (size_bytes(known[key], DEFAULT_BYTES) for key in reversed(_THRESHOLD) if key in known),
            DEFAULT_BYTES,
        ),
        next((whole(known[key], 1) for key in reversed(_RETAINED) if key in known), 1),
        whole(known.get(_THREADS), THREADS),
        size_bytes(known.get(_LARGEST_FILE), LARGEST_FILE_BYTES),
        None if of is None else of[:2] >= _MERGES_SINCE,
    )
