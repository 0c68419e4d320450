"""The triage of one file: all that Weir knows of it, put together from paths, audits,
``_metadata``, journals and jobs.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.utils.translation import gettext

from ingest.metadata.owners import owner_directory
from ingest.storage.roots import Root
from spark_jobs.manifest import BadManifest
from webapp.cleanup.missing_files import audited_files, journal
from webapp.cleanup.missing_files.audited_files import History, Listed, TooMany
from webapp.cleanup.missing_files.causes import Cause, Circumstances, causes
from webapp.cleanup.missing_files.handles import Handle, handles
from webapp.cleanup.missing_files.journal import Deed
from webapp.cleanup.missing_files.referrers import Referrer, referrers
from webapp.cleanup.missing_files.removals import Removals, removals
from webapp.cleanup.missing_files.written_paths import NamedFile, named_file
from webapp.cleanup.references import Storage
from webapp.storage.directory_owners import owner_of
from webapp.storage.models import ChainLink, JobStorage, StorageAudit, StorageRoot
from webapp.storage.newest_audits import latest_audits

log = logging.getLogger(__name__)

MOST_REFERRERS = 50
MOST_QUIET = 500
"""Directories of ended jobs that are compared."""


@dataclass(frozen=True)
class Owner:
    """The job in whose directory the file was.

    ``name`` and what follows None where no cluster reported it.
    """

    job_id: str
    cluster: str | None = None
    name: str | None = None
    state: str | None = None
    ended: bool | None = None
    end_time: datetime | None = None
    retained_on_cancellation: bool | None = None


@dataclass(frozen=True)
class Triage:
    """``present``: None where the storage cannot be asked.

    ``referrers`` by the newest audit that could know them, ``referrers_as_of``.
    """

    path: str
    place: str
    root_uri: str | None
    present: bool | None
    owner: Owner | None
    referrers: tuple[Referrer, ...]
    more_referrers: int
    referrers_as_of: datetime | None
    handles: tuple[Handle, ...]
    seen: Listed | None
    gone_by: datetime | None
    audits: int
    deeds: tuple[Deed, ...]
    causes: tuple[Cause, ...]
    unknown: tuple[str, ...]

    @property
    def cause(self) -> Cause:
        return self.causes[0]

    @property
    def in_danger(self) -> tuple[Referrer, ...]:
        """Of jobs that have not ended: their next restart may need the file."""
        return tuple(
            referrer
            for referrer in self.referrers
            if referrer.ended is False and not referrer.superseded
        )


def triage(written: str) -> Triage:
    """``written`` is a path or an exception that names one. Raises :class:`ingest.uris.BadUri`."""
    file = named_file(written)
    unknown = (
        []
        if file.root
        else [gettext("The file lies below no registered storage root: audits do not look there.")]
    )
    known = _history(file, unknown)
    owner = _owner(file)
    needing, as_of = referrers(file, known, unknown)
    deeds, unreadable = journal.deeds(file.path)
    unknown += [
        gettext("The journal of plan %(name)s cannot be read.") % {"name": name}
        for name in unreadable
    ]
    return Triage(
        path=file.path,
        place=file.place,
        root_uri=file.root.uri if file.root else None,
        present=_present(file),
        owner=owner,
        referrers=needing[:MOST_REFERRERS],
        more_referrers=max(len(needing) - MOST_REFERRERS, 0),
        referrers_as_of=as_of,
        handles=handles(file, needing, unknown),
        seen=known.seen,
        gone_by=known.gone.as_of if known.gone else None,
        audits=known.looked,
        deeds=tuple(deeds),
        causes=causes(
            replace(
                _circumstances(file, owner, needing, deeds, known, unknown), unread=len(unreadable)
            )
        ),
        unknown=tuple(unknown),
    )


def _history(file: NamedFile, unknown: list[str]) -> History:
    try:
        file_history = audited_files.history(file.path)
    except TooMany:
        unknown.append(gettext("The newest audits list more files than are looked through here."))
    except (OSError, BadManifest):
        log.exception("Audits of %s could not be read", file.path)
        unknown.append(
            gettext(
                "The lists of the newest audits could not be read; the server's log has the reason."
            )
        )
    else:
        if file.root and not file_history.looked:
            unknown.append(gettext("No audit of its root has kept its list of files."))
        return file_history
    return History(None, None, 0, None)


def _owner(file: NamedFile) -> Owner | None:
    if file.job_id is None:
        return None
    job = owner_of(file.directory) if file.directory else None
    if job is None:
        return Owner(file.job_id)
    retained = (job.checkpoint_config or {}).get("retained_on_cancellation")
    return Owner(
        file.job_id, job.cluster, job.name, job.state, bool(job.terminal), job.end_time, retained
    )


def _present(file: NamedFile) -> bool | None:
    if file.root is None:
        return None
    return Storage(
        [Root(root.uri, root.read_at or None) for root in StorageRoot.objects.all()]
    ).has(file.path)


def _circumstances(
    file: NamedFile,
    owner: Owner | None,
    referrers: Sequence[Referrer],
    deeds: Sequence[Deed],
    known: History,
    unknown: list[str],
) -> Circumstances:
    of_owner = owner.job_id if owner else None
    needing = {referrer.job_id for referrer in referrers}
    directories = {
        owner_directory(referrer.metadata_path.rpartition("/")[0]) for referrer in referrers
    }
    claimers = ChainLink.objects.filter(
        audit__in=latest_audits(), other_directory=file.directory or "", kind="restored_from"
    ).exclude(directory__in=directories)
    last = deeds[-1] if deeds else None
    return Circumstances(
        moved=last.sentence if last and last.taken else "",
        owner=of_owner,
        owner_ended=owner.ended if owner else None,
        owner_state=owner.state if owner else None,
        owner_end=owner.end_time if owner else None,
        retained=owner.retained_on_cancellation if owner else None,
        foreign=bool(directories - {file.directory}),
        own=file.directory in directories,
        claimers=tuple(sorted(set(claimers.values_list("job_id", flat=True)) - needing)),
        superseded=bool(referrers) and all(referrer.superseded for referrer in referrers),
        seen_at=known.seen.as_of if known.seen else None,
        compared=_compared(file, owner, known, unknown),
    )


def _compared(
    file: NamedFile, owner: Owner | None, known: History, unknown: list[str]
) -> Removals | None:
    if known.seen is None or known.gone is None or owner is None or owner.ended is False:
        return None
    first = StorageAudit.objects.get(audit_id=known.seen.audit_id)
    second = known.gone
    if first.as_of is None or second.as_of is None:
        return None
    if JobStorage.objects.filter(audit=first, directory=file.directory, terminal=False).exists():
        return None
    ended = JobStorage.objects.filter(audit=first, terminal=True, root__in=second.roots).exclude(
        job_id=""
    )
    quiet = {
        owner.job_id,
        *ended.order_by("-newest_modified", "-id").values_list("job_id", flat=True)[:MOST_QUIET],
    }
    try:
        before = audited_files.beside(first, quiet)
        left = {row["path"] for row in audited_files.beside(second, quiet)}
    except TooMany:
        unknown.append(gettext("Ended jobs have more files than are compared here."))
        return None
    except (OSError, BadManifest):
        unknown.append(gettext("The lists of files before and after could not be compared."))
        return None
    return removals(before, left, owner.job_id, first.as_of, second.as_of)
