"""Loads complete Spark runs into the database: in order, in short transactions, repeatable.

1. A manifest is accepted only if it starts at the commits at which the last loaded one ended.
2. Rows that the run retracts (their key changed) are removed; after a lost run, also its leftovers
   (:mod:`webapp.pipeline.leftovers`).
3. The run's tables are upserted in transactions of at most 2,000 rows, each under the caller's
   lease.
4. Occurrences are folded into findings, and jobs get their health.
5. The last transaction marks the manifest as loaded. If the process is killed before, the next load
   repeats everything, with the same rows.
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
    """The manifest does not follow the last loaded one, so it was not loaded."""


def last_loaded() -> Manifest | None:
    return Manifest.objects.filter(state=Manifest.State.LOADED).order_by("-id").first()


def loaded_commits() -> dict[str, int]:
    """Lake table → number of its commits that are loaded."""
    last = last_loaded()
    return dict(last.to_seq) if last else {}


def start_over(attempt: str, why: str, *, known: Mapping[str, int] | None = None) -> None:
    """Mark the lake as unread: the next run reads all of it, into the same rows. ``known``: the
    commits that were loaded before a run was lost (:mod:`webapp.pipeline.leftovers`).
    """
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
        accepted = Manifest.objects.filter(attempt=manifest.attempt).first()
        if accepted is not None:
            return accepted
        loaded = loaded_commits()
        # A missing table has 0 commits.
        if any(manifest.from_seq.get(table, 0) != loaded.get(table, 0) for table in CYCLE_TABLES):
            raise OutOfOrder(
                f"Run {manifest.attempt} starts at commits {_in_words(manifest.from_seq)}, "
                f"but what is loaded ends at {_in_words(loaded)}; it is not loaded."
            )
        return Manifest.objects.create(
            run=run,
            attempt=manifest.attempt,
            path=path,
            from_seq=manifest.from_seq,
            to_seq=manifest.to_seq,
        )


def load(row: Manifest, manifest: RunManifest, lease: Lease, say: Say) -> dict[str, int]:
    """Load an accepted run; returns table → number of changed rows."""
    changed: dict[str, int] = {}
    clusters_with_events: set[str] = set()
    for name in manifest.retracted:
        for keys in retracted_keys(manifest, name):
            with lease.writing():
                removed = sum(
                    SERVED[name].model._default_manager.filter(**key).delete()[0] for key in keys
                )
            say(f"removed {removed} rows of {name} whose key turned out to be another")
    if leftovers.may_be_left(row):
        leftovers.remove(manifest, lease, say)
    findings, checkpoint_events = FindingLoad(lease, say), CheckpointEvents()
    for name, served in SERVED.items():
        if name not in manifest.tables:
            continue
        changed[name] = 0
        for rows in batches(manifest, name):
            with lease.writing():
                clusters = {batch_row["cluster"] for batch_row in rows}
                Cluster.objects.register_recordings(clusters)
                if name == "log_event":
                    clusters_with_events |= clusters
                findings.before(name, rows)
                checkpoint_events.prepare(name, rows)
                changed[name] += upsert(served.table, served.model, rows, served.derived)
                if served.after_load is not None:
                    served.after_load(rows)
        if manifest.tables[name].rows:
            say(f"loaded {name}: {manifest.tables[name].rows} rows, {changed[name]} changed")
    with lease.writing():
        checkpoint_events.finish()
    findings.finish(
        batches(manifest, "job_judgement") if "job_judgement" in manifest.tables else ()
    )
    with lease.writing():
        cluster_errors.watch_recordings(clusters_with_events)
        row.state, row.loaded_at = Manifest.State.LOADED, timezone.now()
        row.save(update_fields=["state", "loaded_at"])
        findings_changed.send(sender=None)
    return changed


def _in_words(commits: Mapping[str, int]) -> str:
    tables = (f"{table} {commits[table]}" for table in CYCLE_TABLES if commits.get(table))
    return ", ".join(tables) or "nothing"
