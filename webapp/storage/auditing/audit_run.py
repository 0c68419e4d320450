"""Runs one audit: lists roots, writes the request, runs the Spark job and loads its result.

1. Earlier audits of killed processes are loaded if the job had finished, else marked as failed.
2. Every root is listed. References are read afterwards, so that no listed file is newer than what
   refers to it.
3. The Spark job joins listing, references and the jobs that the database knows. Without its
   manifest the audit is void.
4. Its tables are loaded, the rules of storage are evaluated, old audits are deleted.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import fsspec
from django.conf import settings
from django.core.management.base import CommandError
from django.utils import timezone

from ingest.errors import IngestError
from spark_jobs import previous_run
from spark_jobs.manifest import BadManifest
from webapp.config.preparation import REFUSED
from webapp.lib.storage_uris import spellings
from webapp.storage import statements
from webapp.storage.audit_findings import judge
from webapp.storage.auditing import (
    audit_retention,
    fleet_orphan_bytes,
    known_jobs,
    listings,
    loading,
)
from webapp.storage.auditing.audit_request import AuditRequest
from webapp.storage.auditing.work_keys import BY_HAND
from webapp.storage.choices import AuditPurpose, AuditState
from webapp.storage.models import StorageAudit, StorageRoot
from webapp.storage.registration import withdraw
from webapp.work import run_dirs, spark_job
from webapp.work.lease import Lease
from webapp.work.models import DueWork, PipelineRun
from webapp.work.registry import DAY_S
from webapp.work.runs import RunRecord, describe, new_attempt, record_run


@contextmanager
def by_hand(say: Callable[[str], None]) -> Iterator[tuple[Lease, RunRecord]]:
    """The lease and the run of a command. Raises ``CommandError`` with a suitable exit code."""
    DueWork.objects.ensure({BY_HAND: DAY_S}, timezone.now())
    lease = DueWork.objects.claim(BY_HAND, timezone.now(), even_if_not_due=True)
    if lease is None:
        raise CommandError(
            "Another command works on storage at this moment; wait for it.", returncode=1
        )
    try:
        with lease.kept_alive(), record_run(lease, "storage", say) as record:
            yield lease, record
    except BaseException as error:
        lease.fail(timezone.now(), describe(error))
        if not isinstance(error, Exception):
            raise
        raise CommandError(
            describe(error), returncode=REFUSED if isinstance(error, IngestError) else 1
        ) from error
    lease.complete(timezone.now())


def audit(request: AuditRequest, lease: Lease, record: RunRecord) -> StorageAudit:
    """Runs the audit. Errors of listing, ``SparkFailed`` and ``BadManifest`` are recorded and
    raised.
    """
    settle_left_behind(lease, record)
    row = _create_row(request, lease, record)
    try:
        root_listings = listings.list_all(request, row.run_dir, record.say)
        row.as_of = listings.as_of(root_listings)
        row.previous = _newest_audit_before(row.as_of)
        _write_request(row, request, root_listings)
        with lease.writing():
            row.save(update_fields=["as_of", "previous"])
        _run_spark(row, request, lease, record)
        _load(row, lease, record)
    except BaseException as error:
        _note_failure(row, describe(error))
        raise
    removed = audit_retention.forget_old(lease)
    if removed:
        record.say(f"lists of files of {removed} older audits removed")
    return row


def settle_left_behind(lease: Lease, record: RunRecord) -> None:
    """Load or fail unfinished audits whose process has ended: their run is closed, or ``lease`` is
    for the same due work.
    """
    for row in StorageAudit.objects.filter(
        state__in=(AuditState.RUNNING, AuditState.WRITTEN)
    ).select_related("run"):
        if (
            row.run is not None
            and row.run.state == PipelineRun.State.RUNNING
            and row.run.key != lease.key
        ):
            continue
        try:
            _load(row, lease, record)
        except BadManifest:
            _note_failure(row, "Its process ended before it did.")
        else:
            record.say(
                f"audit {row.audit_id} was complete although its process had ended; it is loaded"
            )


def _create_row(request: AuditRequest, lease: Lease, record: RunRecord) -> StorageAudit:
    attempt = record.row.attempt
    if StorageAudit.objects.filter(audit_id=attempt).exists():
        # Plans are audited again during execution.
        attempt = new_attempt(record.row.kind, timezone.now())
    with lease.writing():
        run_dir = run_dirs.of(record.row, attempt)
        return StorageAudit.objects.create(
            audit_id=attempt,
            run=record.row,
            purpose=request.purpose,
            roots=request.uris,
            age_guard_h=request.age_guard_h,
            fresh=request.fresh,
            run_dir=run_dir,
            manifest_path=f"{run_dir}/manifest.json",
            withheld={root.root.uri: root.withheld for root in request.roots if root.withheld},
            outside=sorted({place for root in request.roots for place in root.outside}),
        )


def _newest_audit_before(as_of: datetime) -> StorageAudit | None:
    """Of any roots, since an audit also has the state of roots that it did not audit."""
    return (
        StorageAudit.objects.loaded()
        .filter(files_kept=True, as_of__lt=as_of)
        .order_by("-as_of", "-id")
        .first()
    )


def _carried_audits(row: StorageAudit) -> list[StorageAudit]:
    """Audits whose state ``row`` carries on: ``previous``, and audits that ``previous`` does not
    know.
    """
    if row.previous is None:
        return []
    return [row.previous, *StorageAudit.objects.unknown_to(row.previous)]


def _is_lost(audit: StorageAudit) -> bool:
    try:
        previous_run.check(previous_run.read(audit.manifest_path), every_byte=True)
    except previous_run.PreviousLost:
        return True
    return False


def _write_request(
    row: StorageAudit, request: AuditRequest, root_listings: list[listings.RootListing]
) -> None:
    known_jobs.write(
        f"{row.run_dir}/jobs.parquet",
        timezone.now(),
        request.jobs_left_out(),
        as_recorded=request.purpose != AuditPurpose.PLAN,
    )
    request_row = {
        "audit_id": row.audit_id,
        "as_of": row.as_of.isoformat() if row.as_of else None,
        "age_guard_h": row.age_guard_h,
        "roots": [
            listings.request_of(listing, [root.root for root in request.roots])
            for listing in root_listings
        ],
        "spellings": [list(pair) for pair in spellings().aliases],
        "statements": statements.rows_of_request(row),
        "jobs": f"{row.run_dir}/jobs.parquet",
    }
    with fsspec.open(f"{row.run_dir}/request.json", "wb") as file:
        file.write(json.dumps({"audits": [request_row]}, indent=1).encode())


def _run_spark(row: StorageAudit, request: AuditRequest, lease: Lease, record: RunRecord) -> None:
    """Run the job, again if files of a carried audit are lost: an older one then replaces
    ``previous``. If there is none, every file counts as first seen now.
    """
    try:
        spark_job.run(_command(row), record, row.audit_id)
    except spark_job.PreviousLost as error:
        carried = _carried_audits(row)
        if not carried:
            raise
        lost = [audit for audit in carried if _is_lost(audit)] or carried
        record.say(f"{error} It carries on from an older audit, or else from none.")
        with lease.writing():
            _withdraw_attestations(request, record)
            StorageAudit.objects.filter(pk__in=[audit.pk for audit in lost]).update(
                files_kept=False
            )
            row.previous = _newest_audit_before(row.as_of or timezone.now())
            row.save(update_fields=["previous"])
        _run_spark(row, request, lease, record)


def _withdraw_attestations(request: AuditRequest, record: RunRecord) -> None:
    """Roots must be attested again: a file whose referrer was deleted is protected only while
    audits remember the reference.
    """
    for root in StorageRoot.objects.filter(uri__in=request.uris, attested_at__isnull=False):
        record.say(
            f"The attestation of {root.attested_name} for {root.uri} is withdrawn: which files "
            "were ever referred to is not remembered "
            "any more. Look at what is missing there before you attest again."
        )
        withdraw(root)


def _command(row: StorageAudit) -> list[str]:
    command = ["audit", "--request", f"{row.run_dir}/request.json"]
    command += ["--lake", settings.WEIR.lake_root]
    command += ["--run-dir", row.run_dir, "--attempt", row.audit_id]
    for carried_audit in _carried_audits(row):
        command += ["--previous", carried_audit.manifest_path]
    if row.fresh:
        command.append("--fresh")
    return command


def _load(row: StorageAudit, lease: Lease, record: RunRecord) -> None:
    manifest = loading.read_manifest(row)
    with lease.writing():
        row.state = AuditState.WRITTEN
        row.save(update_fields=["state"])
    record.counts["rows"] = loading.load(row, manifest, lease, record.say)
    with lease.writing():
        statements.end_void(row)
    judge(row, lease, record.say)
    loading.finish(row, lease)
    fleet_orphan_bytes.copy_to_fleet(row, lease)


def _note_failure(row: StorageAudit, error: str) -> None:
    StorageAudit.objects.filter(pk=row.pk).exclude(state=AuditState.LOADED).update(
        state=AuditState.FAILED, error=error, finished_at=timezone.now()
    )
