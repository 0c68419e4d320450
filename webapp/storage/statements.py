"""Operators' statements about jobs, directories and files in storage: records and ends them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from ingest.messages import message
from ingest.uris import BadUri, is_below
from spark_jobs.storage_words import DEAD_JOB, EXCLUDED, FOREIGN_FILE, VOID_ATTESTATION
from webapp.accounts.models import User
from webapp.fleet.models import Cluster, JobCurrent
from webapp.lib.chunks import chunks
from webapp.lib.refusals import InputRefused
from webapp.lib.storage_uris import canonical, canonical_or_none
from webapp.storage.models import (
    URI_LENGTH,
    AuditDoubt,
    JobStorage,
    StorageAudit,
    StorageRoot,
    StorageStatement,
)
from webapp.storage.newest_audits import latest_audits

JOBS_AT_ONCE = 500
_JOB_DIRECTORY = re.compile(r".*/([0-9a-f]{32})")


class StatedSubject(NamedTuple):
    """An entered subject: a directory or file in any spelling, or a job by cluster and id."""

    kind: str
    subject: str = ""
    cluster: str = ""
    job_id: str = ""


def state(
    stated: StatedSubject, reason: str, name: str, user: User | None = None
) -> StorageStatement:
    """Records a statement in place of an earlier one. Raises :class:`InputRefused` if Weir knows
    that it is not true, or no audit knows the subject.
    """
    if not reason.strip():
        raise InputRefused(gettext("Give the reason: it is shown wherever the statement counts."))
    fields = _CHECKS[stated.kind](stated)
    StorageStatement.objects.valid().filter(
        kind=stated.kind, subject=fields["subject"], cluster=stated.cluster, job_id=fields["job_id"]
    ).update(ended_at=timezone.now(), ended_why=message("It was stated again."))
    return StorageStatement.objects.create(
        kind=stated.kind,
        cluster=stated.cluster,
        reason=reason.strip()[:2000],
        stated_by=user,
        stated_name=name[:200],
        stated_at=timezone.now(),
        **fields,
    )


def take_back(statement: StorageStatement, name: str) -> None:
    """Ends a statement from the next audit on. Plans based on it no longer move or delete files of
    its subject.
    """
    if statement.ended_at is None:
        statement.ended_at = timezone.now()
        statement.ended_why = message("{name:name} took it back.", name=name)
        statement.save(update_fields=["ended_at", "ended_why"])


def rows_of_request(audit: StorageAudit) -> list[dict[str, Any]]:
    """Valid statements made before the audit began, as ``spark_jobs.audit_request.Statement``.
    First ends statements on dead jobs that were seen alive since.
    """
    for statement in _seen_alive_since(StorageStatement.objects.valid().filter(kind=DEAD_JOB)):
        _end(statement, message("Its job was seen alive since."))
    return [
        {
            "kind": row.kind,
            "subject": row.subject,
            "cluster": row.cluster,
            "job_id": row.job_id,
            "stated_at": row.stated_at.isoformat(),
            "bytes": row.bytes,
            "modified": row.modified.isoformat() if row.modified else None,
            "head_sha256": row.head_sha256,
        }
        for row in StorageStatement.objects.valid()
        .filter(stated_at__lte=audit.created_at)
        .order_by("id")
    ]


def end_void(audit: StorageAudit) -> None:
    """Ends statements on dead jobs that an audit contradicts."""
    contradicted = set(
        AuditDoubt.objects.filter(audit=audit, reason=VOID_ATTESTATION).values_list(
            "subject", flat=True
        )
    )
    for statement in StorageStatement.objects.valid().filter(kind=DEAD_JOB):
        if statement.title in contradicted and statement.stated_at <= audit.created_at:
            _end(
                statement,
                message("Its job is running, or something was written to its directory since."),
            )


def of_root(uri: str, most: int) -> list[StorageStatement]:
    """The newest valid statements about places in the root or jobs whose directory is unknown."""
    below = Q(subject__in=("", uri)) | Q(subject__startswith=f"{uri.rstrip('/')}/")
    return list(StorageStatement.objects.valid().filter(below)[:most])


def _end(statement: StorageStatement, why: str) -> None:
    StorageStatement.objects.valid().filter(pk=statement.pk).update(
        ended_at=timezone.now(), ended_why=why
    )


def _seen_alive_since(statements: Iterable[StorageStatement]) -> Iterator[StorageStatement]:
    """Statements whose job was seen later and has not ended; a query for each chunk."""
    for chunk in chunks(statements, JOBS_AT_ONCE):
        alive = defaultdict(list)
        for job in JobCurrent.objects.filter(
            job_id__in={statement.job_id for statement in chunk}, terminal=False
        ).only("job_id", "cluster", "last_completed_path", "last_seen_at"):
            alive[job.job_id].append(job)
        for statement in chunk:
            if any(_contradicts(job, statement) for job in alive[statement.job_id]):
                yield statement


def _contradicts(job: JobCurrent, statement: StorageStatement) -> bool:
    if job.last_seen_at is None or job.last_seen_at <= statement.stated_at:
        return False
    return job.cluster == statement.cluster or _may_lie_below(
        job.last_completed_path, statement.subject
    )


def _check_dead_job(stated: StatedSubject) -> dict[str, Any]:
    if stated.cluster or stated.job_id:
        jobs = JobCurrent.objects.filter(cluster=stated.cluster, job_id=stated.job_id)
        if not jobs.exists():
            raise InputRefused(
                gettext("Weir knows no job %(job_id)s of %(cluster)s.")
                % {"job_id": stated.job_id, "cluster": stated.cluster}
            )
        _refuse_running(jobs)
        return {"subject": _directory_of(stated), "job_id": stated.job_id}
    subject = _uri_in_root(stated.subject)
    match = _JOB_DIRECTORY.fullmatch(subject)
    if match is None:
        raise InputRefused(
            gettext("%(subject)s is no directory of a job; its last part is the id of a job.")
            % {"subject": subject}
        )
    if not JobStorage.objects.filter(audit__in=latest_audits(), directory=subject).exists():
        raise InputRefused(
            gettext("The newest audit found nothing in %(subject)s: audit first.")
            % {"subject": subject}
        )
    _refuse_running(
        JobCurrent.objects.filter(job_id=match[1]).filter(
            Q(last_completed_path=None) | Q(last_completed_path__contains=f"{match[1]}/")
        )
    )
    return {"subject": subject, "job_id": match[1]}


def _directory_of(stated: StatedSubject) -> str:
    """The stated directory of a job. Refused if a running job with the same id may write to it."""
    if not stated.subject:
        return ""
    subject = _canonical(stated.subject)
    match = _JOB_DIRECTORY.fullmatch(subject)
    if match is None or match[1] != stated.job_id:
        raise InputRefused(
            gettext("%(subject)s is no directory of job %(job_id)s.")
            % {"subject": subject, "job_id": stated.job_id}
        )
    running = JobCurrent.objects.filter(job_id=stated.job_id, terminal=False)
    writers = [
        pk
        for pk, path in running.values_list("pk", "last_completed_path")
        if _may_lie_below(path, subject)
    ]
    _refuse_running(running.filter(pk__in=writers))
    return subject


def _may_lie_below(path: str | None, directory: str) -> bool:
    # A job whose last path is unknown may write anywhere.
    uri = canonical_or_none(path)
    return uri is None or is_below(uri, directory)


def _refuse_running(jobs: Any) -> None:
    unseen = Cluster.objects.unseen(timezone.now()).values("name")
    job = (
        jobs.filter(terminal=False, cluster__in=Cluster.objects.values("name"))
        .exclude(cluster__in=unseen)
        .first()
    )
    if job is not None:
        raise InputRefused(
            gettext("%(cluster)s reports job %(job_id)s, which has not ended: it is not dead.")
            % {"cluster": job.cluster, "job_id": job.job_id}
        )


def _check_excluded(stated: StatedSubject) -> dict[str, Any]:
    subject = _uri_in_root(stated.subject)
    if StorageRoot.objects.filter(uri=subject).exists():
        raise InputRefused(
            gettext("%(subject)s is a root: remove or pause it instead.") % {"subject": subject}
        )
    return {"subject": subject, "job_id": ""}


def _check_foreign_file(stated: StatedSubject) -> dict[str, Any]:
    subject = _uri_in_root(stated.subject)
    for doubt in AuditDoubt.objects.filter(audit__in=latest_audits(), subject=subject):
        for statement in doubt.statements:
            if statement["kind"] == FOREIGN_FILE:
                return {
                    "subject": subject,
                    "job_id": "",
                    "bytes": statement["bytes"],
                    "modified": datetime.fromtimestamp(statement["modified"] / 1e6, UTC),
                    "head_sha256": statement["head_sha256"],
                }
    raise InputRefused(
        gettext(
            "The newest audit has no doubt about %(subject)s that acknowledging the file would "
            "end: Weir can read it, or Flink may be able to."
        )
        % {"subject": subject}
    )


_CHECKS = {DEAD_JOB: _check_dead_job, EXCLUDED: _check_excluded, FOREIGN_FILE: _check_foreign_file}


def _canonical(entered: str) -> str:
    try:
        uri = canonical(entered)
    except BadUri as error:
        raise InputRefused(str(error)) from error
    if len(uri) > URI_LENGTH:
        raise InputRefused(
            gettext("The address is longer than %(longest)s characters.") % {"longest": URI_LENGTH}
        )
    return uri


def _uri_in_root(entered: str) -> str:
    subject = _canonical(entered)
    if not any(is_below(subject, uri) for uri in StorageRoot.objects.values_list("uri", flat=True)):
        raise InputRefused(
            gettext("%(subject)s lies below no registered root.") % {"subject": subject}
        )
    return subject
