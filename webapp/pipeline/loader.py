"""Loads complete Spark runs into the database: in order, in short transactions, repeatable.

1. A manifest is accepted only if it starts at the commits at which the last loaded one ended.
2. Rows that it retracts (their key changed) are removed; after a lost run, also rows that it does
   not contain.
3. Its tables are upserted in transactions of at most 2,000 rows, each under the caller's lease.
4. Occurrences are folded into findings, and jobs get their health.
5. The last transaction marks it as loaded. If killed before, the next load repeats it, with the
   same rows.
"""

from collections.abc import Callable, Mapping

from django.db import transaction
from django.utils import timezone

from ingest.lake.derived import CYCLE_TABLES
from spark_jobs.manifest import Manifest as RunManifest
from webapp.findings import cluster_errors
from webapp.findings.loading import FindingLoad
from webapp.findings.signals import findings_changed
from webapp.fleet.models import Cluster
from webapp.hosts.checkpoint_events import CheckpointEvents
from webapp.pipeline import leftovers
from webapp.pipeline.table_models import SERVED
from webapp.work.lease import Lease
from webapp.work.models import Manifest, PipelineRun
from webapp.work.run_files import batches, retracted_keys
from webapp.work.upserts import upsert

Say = Callable[[str], None]


class OutOfOrder(Exception):
    """The manifest does not follow the last loaded one; nothing of it was loaded."""


def last_loaded() -> Manifest | None:
    return Manifest.objects.filter(state=Manifest.State.LOADED).order_by("-id").first()


def loaded_commits() -> dict[str, int]:
    """Lake table → commits of it that are loaded."""
    last = last_loaded()
    return dict(last.to_seq) if last else {}


def start_over(attempt: str, why: str, *, known: Mapping[str, int] | None = None) -> None:
    """Mark the lake as unread: the next run reads all of it, into the same rows."""
    now = timezone.now()
    with transaction.atomic():
        Manifest.objects.exclude(state=Manifest.State.LOADED).delete()
        Manifest.objects.create(
            attempt=attempt,
            path="",
            from_seq=dict(known or {}),
            state=Manifest.State.LOADED,
            loaded_at=now,
            restarted=why,
        )


def accept(manifest: RunManifest, path: str, run: PipelineRun | None, lease: Lease) -> Manifest:
    """Register a complete run as the next to load; raises :class:`OutOfOrder` if it is not."""
    with lease.writing():
        known = Manifest.objects.filter(attempt=manifest.attempt).first()
        if known is not None:
            return known
        ended_at = loaded_commits()
        if not same_commits(manifest.from_seq, ended_at):
            raise OutOfOrder(
                f"Run {manifest.attempt} starts at commits {_words(manifest.from_seq)}, "
                f"but what is loaded ends at {_words(ended_at)}; it is not loaded."
            )
        return Manifest.objects.create(
            run=run,
            attempt=manifest.attempt,
            path=path,
            from_seq=manifest.from_seq,
            to_seq=manifest.to_seq,
        )


def load(row: Manifest, manifest: RunManifest, lease: Lease, say: Say) -> dict[str, int]:
    changed: dict[str, int] = {}
    with_events: set[str] = set()
    for name in manifest.retracted:
        for keys in retracted_keys(manifest, name):
            with lease.writing():
                removed = sum(
                    SERVED[name].model._default_manager.filter(**key).delete()[0] for key in keys
                )
            say(f"removed {removed} rows of {name} whose key turned out to be another")
    if leftovers.may_be_left(row):
        leftovers.remove(manifest, lease, say)
    findings, of_checkpoints = FindingLoad(lease, say), CheckpointEvents()
    for name, served in SERVED.items():
        if name not in manifest.tables:
            continue
        changed[name] = 0
        for rows in batches(manifest, name):
            with lease.writing():
                clusters = {batch_row["cluster"] for batch_row in rows}
                Cluster.objects.register_recordings(clusters)
                if name == "log_event":
                    with_events |= clusters
                findings.before(name, rows)
                of_checkpoints.before(name, rows)
                changed[name] += upsert(served.table, served.model, rows, served.derived)
                if served.after_load is not None:
                    served.after_load(rows)
        if manifest.tables[name].rows:
            say(f"loaded {name}: {manifest.tables[name].rows} rows, {changed[name]} changed")
    with lease.writing():
        of_checkpoints.finish()
    findings.finish(
        batches(manifest, "job_judgement") if "job_judgement" in manifest.tables else ()
    )
    with lease.writing():
        cluster_errors.watch_recordings(with_events)
        row.state, row.loaded_at = Manifest.State.LOADED, timezone.now()
        row.save(update_fields=["state", "loaded_at"])
        findings_changed.send(sender=None)
    return changed


def same_commits(left: Mapping[str, int], other: Mapping[str, int]) -> bool:
    """Whether both have the same commits; a missing table counts as 0."""
    return all(left.get(table, 0) == other.get(table, 0) for table in CYCLE_TABLES)


def _words(commits: Mapping[str, int]) -> str:
    return (
        ", ".join(
            f"{table} {commits.get(table, 0)}" for table in CYCLE_TABLES if commits.get(table, 0)
        )
        or "nothing"
    )
