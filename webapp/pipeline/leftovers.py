"""Checkpoints in the database that a lost run would have retracted: the cycle starts over from the
lake, and its results contain the jobs of these checkpoints but not these checkpoints.
"""

from collections.abc import Callable, Iterator
from typing import Any

from spark_jobs.manifest import Manifest as RunManifest
from webapp.checkpoints.models import CheckpointFact
from webapp.work import lake
from webapp.work.lease import Lease
from webapp.work.models import Manifest
from webapp.work.run_files import batches

TABLE = "checkpoint_fact"

Key = tuple[Any, ...]
Say = Callable[[str], None]


def may_be_left(row: Manifest) -> bool:
    """Whether the run ``row`` reads again what was loaded before a run was lost, and the lake still
    has all of it.
    """
    restart = (
        Manifest.objects.filter(pk__lt=row.pk, state=Manifest.State.LOADED, restarted__isnull=False)
        .order_by("-id")
        .first()
    )
    if restart is None or not any(
        row.from_seq.get(table, 0) < seq for table, seq in restart.from_seq.items()
    ):
        return False
    newest = lake.commits()
    return all(
        max(row.to_seq.get(table, 0), newest.get(table, 0)) >= seq
        for table, seq in restart.from_seq.items()
    )


def remove(manifest: RunManifest, lease: Lease, say: Say) -> None:
    """Delete checkpoints with the id, but another trigger time, of a checkpoint in the run."""
    suspects = {key for batch in _batches(manifest) for key in _other_stored_keys(batch)}
    if suspects:
        for batch in _batches(manifest):
            suspects.difference_update(batch)
    removed = 0
    for cluster, job_id, checkpoint_id, trigger_time in sorted(suspects):
        with lease.writing():
            rows = CheckpointFact.objects.filter(
                cluster=cluster,
                job_id=job_id,
                checkpoint_id=checkpoint_id,
                trigger_time=trigger_time,
            )
            removed += rows.delete()[0]
    if removed:
        say(f"removed {removed} rows of {TABLE} that the lake does not bring again")


def _batches(manifest: RunManifest) -> Iterator[set[Key]]:
    for rows in batches(manifest, TABLE) if TABLE in manifest.tables else ():
        yield {
            (row["cluster"], row["job_id"], row["checkpoint_id"], row["trigger_time"])
            for row in rows
        }


def _other_stored_keys(batch: set[Key]) -> set[Key]:
    ids: dict[tuple[str, str], set[int]] = {}
    for cluster, job_id, checkpoint_id, _ in batch:
        ids.setdefault((cluster, job_id), set()).add(checkpoint_id)
    keys: set[Key] = set()
    for (cluster, job_id), job_ids in ids.items():
        stored = CheckpointFact.objects.filter(
            cluster=cluster, job_id=job_id, checkpoint_id__in=job_ids
        )
        keys.update(stored.values_list("cluster", "job_id", "checkpoint_id", "trigger_time"))
    return keys - batch
