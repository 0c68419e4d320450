"""Rows that a lost run would have retracted."""

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
    """Whether this run reads again what was loaded before a run was lost, and the lake still holds
    all loaded data.
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
    held = lake.commits()
    return all(
        max(row.to_seq.get(table, 0), held.get(table, 0)) >= seq
        for table, seq in restart.from_seq.items()
    )


def remove(manifest: RunManifest, lease: Lease, say: Say) -> None:
    suspects = {key for batch in _batches(manifest) for key in _others(batch)}
    if suspects:
        for batch in _batches(manifest):
            suspects.difference_update(batch)
    removed = 0
    for cluster, job_id, checkpoint_id, trigger_time in sorted(suspects):
        with lease.writing():
            left = CheckpointFact.objects.filter(
                cluster=cluster,
                job_id=job_id,
                checkpoint_id=checkpoint_id,
                trigger_time=trigger_time,
            )
            removed += left.delete()[0]
    if removed:
        say(f"removed {removed} rows of {TABLE} that the lake does not bring again")


def _batches(manifest: RunManifest) -> Iterator[set[Key]]:
    for rows in batches(manifest, TABLE) if TABLE in manifest.tables else ():
        yield {
            (row["cluster"], row["job_id"], row["checkpoint_id"], row["trigger_time"])
            for row in rows
        }


def _others(brought: set[Key]) -> set[Key]:
    ids: dict[tuple[str, str], set[int]] = {}
    for cluster, job_id, checkpoint_id, _ in brought:
        ids.setdefault((cluster, job_id), set()).add(checkpoint_id)
    keys: set[Key] = set()
    for (cluster, job_id), numbers in ids.items():
        same = CheckpointFact.objects.filter(
            cluster=cluster, job_id=job_id, checkpoint_id__in=numbers
        )
        keys.update(same.values_list("cluster", "job_id", "checkpoint_id", "trigger_time"))
    return keys - brought
