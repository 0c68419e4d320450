"""Checks the state that the previous run left: before the next run reads it, and after a failure.
Without it, the caller starts over.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pyarrow as pa

from ingest.lake.derived import CYCLE_TABLES
from ingest.parquet_stream import open_parquet
from spark_jobs import manifest as manifests
from spark_jobs.manifest import BadManifest, Manifest


class PreviousLost(Exception):
    """The state of the previous run is missing or damaged."""


def read(uri: str, ended_at: Mapping[str, int] | None = None) -> Manifest:
    """The manifest at ``uri`` of a run with complete state, which ended at the commits
    ``ended_at``. Raises PreviousLost, or the storage's error.
    """
    try:
        manifest = manifests.read(uri)
    except BadManifest as error:
        raise PreviousLost(str(error)) from error
    if ended_at is not None and any(
        manifest.to_seq.get(table, 0) != ended_at.get(table, 0) for table in CYCLE_TABLES
    ):
        raise PreviousLost(
            f"The manifest at {uri} ends at other commits than the run that was loaded from it."
        )
    check(manifest)
    return manifest


def check(run: Manifest, *, every_byte: bool = False) -> None:
    """Raises PreviousLost if a state file is missing or torn, or (``every_byte``) damaged."""
    for file in run.state_files():
        try:
            with open_parquet(file, checks_pages=True) as parquet:
                for _ in parquet.iter_batches() if every_byte else ():
                    pass
        except (pa.ArrowException, OSError) as error:
            if not manifests.is_damage(error):
                raise
            raise PreviousLost(
                f"The state of run {run.attempt} is lost: {file} cannot be read "
                f"({type(error).__name__})."
            ) from error


@contextmanager
def lost_if_damaged(run: Manifest | None) -> Iterator[None]:
    """Raises PreviousLost if the block fails and the state is damaged."""
    try:
        yield
    except Exception as error:
        if run is not None and _is_damaged(run, str(error)):
            raise PreviousLost(
                f"The state of run {run.attempt} in {run.run_dir} is damaged."
            ) from error
        raise


def _is_damaged(run: Manifest, error_text: str) -> bool:
    if f"{run.attempt}/state/" in error_text and "checksum" in error_text.lower():
        return True  # Hadoop keeps its own checksums beside local files
    try:
        check(run, every_byte=True)
    except PreviousLost:
        return True
    except OSError:
        return False
    return False
