import logging
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext

from ingest.metadata.owners import owner_directory
from spark_jobs.manifest import BadManifest
from webapp.cleanup.missing_files import audited_files, journal
from webapp.cleanup.missing_files.audited_files import History, Listed, TooMany
from webapp.cleanup.missing_files.causes import (
    CERTAIN,
    LABELS,
    LIKELY,
    Cause,
    Circumstances,
    Removals,
    causes,
)
from webapp.cleanup.missing_files.journal import Deed
from webapp.cleanup.missing_files.written_paths import NamedFile, named_file
from webapp.cleanup.references import Storage
from webapp.fleet.models import JobCurrent
from webapp.lib.badges import Badge
from webapp.lib.quantities import count_text
from webapp.storage.directory_owners import owner_of
from webapp.storage.models import (
    ChainLink,
    CheckpointStorage,
    JobStorage,
    MissingFile,
    StorageAudit,
    StorageRoot,
)
from webapp.storage.newest_audits import latest_audits

log = logging.getLogger(__name__)

MOST_REFERRERS = 50
MOST_COMPARED = 500


@dataclass(frozen=True)
class Referrer:
    """A retained snapshot that needs the file. ``ended``: whether its job has ended."""

    metadata_path: str
    cluster: str
    job_id: str
    job_name: str | None
    ended: bool | None
    checkpoint_id: int | None
    is_savepoint: bool
    superseded: bool


@dataclass(frozen=True)
class Triage:
    """``present``: None if unknown. ``owner_id``: the job id in the path; ``owner`` is None if no
    cluster reported that job. ``referrers``: from the newest audit that could know them, which
    began at ``referrers_as_of``. ``gone_by``: the first audit that did not list the file.
    ``unknown``: sentences on what was not found.
    """

    path: str
    place: str
    root_uri: str | None
    present: bool | None
    owner_id: str | None
    owner: JobCurrent | None
    referrers: tuple[Referrer, ...]
    more_referrers: int
    referrers_as_of: datetime | None
    seen: Listed | None
    gone_by: datetime | None
    audits: int
    deeds: tuple[Deed, ...]
    causes: tuple[Cause, ...]
    unknown: tuple[str, ...]

    @property
    def in_danger(self) -> tuple[Referrer, ...]:
        """Referrers of jobs that have not ended: their next restart may need the file."""
        return tuple(
            referrer
            for referrer in self.referrers
            if referrer.ended is False and not referrer.superseded
        )

    @property
    def summary(self) -> Badge:
        if self.present:
            sentence = gettext("The file is there now: the next attempt to restore finds it.")
            return Badge(sentence, "●", "ok")
        jobs = len({(referrer.cluster, referrer.job_id) for referrer in self.in_danger})
        others = (
            gettext(" Jobs that have not ended and need it at the next restore: %(jobs)s.")
            % {"jobs": count_text(jobs)}
            if jobs
            else ""
        )
        if self.causes and self.causes[0].verdict in (CERTAIN, LIKELY):
            sentence = gettext("%(verdict)s deleted by: %(key)s.%(others)s") % {
                "verdict": gettext("Certainly")
                if self.causes[0].verdict == CERTAIN
                else gettext("Likely"),
                "key": LABELS[self.causes[0].key],
                "others": others,
            }
            return Badge(sentence, "▲", "crit")
        sentence = gettext("What has deleted it is not known.%(others)s") % {"others": others}
        return Badge(sentence, "?", "unknown")


def triage(text: str) -> Triage:
    """``text`` is a path or an exception that names one. Raises :class:`ingest.uris.BadUri`."""
    file = named_file(text)
    unknown = (
        []
        if file.root
        else [gettext("The file lies below no registered storage root: audits do not look there.")]
    )
    history = _history(file, unknown)
    owner = owner_of(file.directory) if file.directory else None
    referrers, as_of = _referrers(file, history, unknown)
    deeds, unreadable = journal.deeds(file.path)
    unknown += [
        gettext("The journal of plan %(name)s cannot be read.") % {"name": name}
        for name in unreadable
    ]
    roots = [root.place for root in StorageRoot.objects.all()]
    return Triage(
        path=file.path,
        place=file.place,
        root_uri=file.root.uri if file.root else None,
        present=Storage(roots).has(file.path) if file.root else None,
        owner_id=file.job_id,
        owner=owner,
        referrers=referrers[:MOST_REFERRERS],
        more_referrers=max(len(referrers) - MOST_REFERRERS, 0),
        referrers_as_of=as_of,
        seen=history.seen,
        gone_by=history.gone.as_of if history.gone else None,
        audits=history.audits_read,
        deeds=tuple(deeds),
        causes=causes(_circumstances(file, owner, referrers, deeds, history, unknown)),
        unknown=tuple(unknown),
    )


def retained_on_cancellation(job: JobCurrent | None) -> bool | None:
    return ((job.checkpoint_config if job else None) or {}).get("retained_on_cancellation")


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
        if file.root and not file_history.audits_read:
            unknown.append(gettext("No audit of its root has kept its list of files."))
        return file_history
    return History(None, None, 0, None)


def _referrers(
    file: NamedFile, history: History, unknown: list[str]
) -> tuple[tuple[Referrer, ...], datetime | None]:
    """Referrers in stored references and newest audits, those of live jobs first; and when the
    audit that knows them began.
    """
    audit, paths = history.newest, set()
    if audit is not None:
        try:
            paths = set(audited_files.referrers(audit, file.path))
        except (TooMany, OSError, BadManifest):
            unknown.append(
                gettext("What refers to the file could not be read from the newest audit.")
            )
    missing_rows = MissingFile.objects.filter(audit__in=latest_audits(), path=file.path[:600])
    superseded = dict(missing_rows.values_list("metadata_path", "superseded"))
    rows = CheckpointStorage.objects.filter(
        audit__in=latest_audits(), metadata_path__in=paths | superseded.keys()
    )
    storages = {row.metadata_path: row for row in rows.select_related("audit").order_by("id")}
    jobs = _reported_jobs((row.cluster, row.job_id) for row in storages.values())
    referrers = []
    for row in storages.values():
        job = jobs.get((row.cluster, row.job_id))
        referrers.append(
            Referrer(
                metadata_path=row.metadata_path,
                cluster=row.cluster,
                job_id=row.job_id,
                job_name=job.name if job else None,
                ended=bool(job.terminal) if job else None,
                checkpoint_id=row.checkpoint_id,
                is_savepoint=row.is_savepoint,
                superseded=superseded.get(row.metadata_path, False),
            )
        )
    referrers.sort(
        key=lambda referrer: (
            referrer.superseded,
            referrer.ended is not False,
            -(referrer.checkpoint_id or 0),
            referrer.metadata_path,
        )
    )
    times = [row.audit.as_of for row in storages.values() if row.audit.as_of]
    return tuple(referrers), audit.as_of if audit else max(times, default=None)


def _reported_jobs(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], JobCurrent]:
    """(cluster, job id) → job; ("", job id) → the only job with this id."""
    ids = {job_id for _cluster, job_id in keys if job_id}
    rows = list(
        JobCurrent.objects.filter(job_id__in=ids).only("cluster", "job_id", "name", "terminal")
    )
    rows_of_id = Counter(row.job_id for row in rows)
    jobs = {("", row.job_id): row for row in rows if rows_of_id[row.job_id] == 1}
    return jobs | {row.key: row for row in rows}


def _circumstances(
    file: NamedFile,
    owner: JobCurrent | None,
    referrers: Sequence[Referrer],
    deeds: Sequence[Deed],
    history: History,
    unknown: list[str],
) -> Circumstances:
    referring_jobs = {referrer.job_id for referrer in referrers}
    directories = {
        owner_directory(referrer.metadata_path.rpartition("/")[0]) for referrer in referrers
    }
    claimers = ChainLink.objects.filter(
        audit__in=latest_audits(), other_directory=file.directory or "", kind="restored_from"
    ).exclude(directory__in=directories)
    return Circumstances(
        moved=deeds[-1].sentence if deeds and deeds[-1].has_removed else "",
        owner_ended=bool(owner.terminal) if owner else None,
        owner_state=owner.state if owner else None,
        owner_end=owner.end_time if owner else None,
        retained=retained_on_cancellation(owner),
        foreign=bool(directories - {file.directory}),
        claimers=tuple(sorted(set(claimers.values_list("job_id", flat=True)) - referring_jobs)),
        superseded=bool(referrers) and all(referrer.superseded for referrer in referrers),
        seen_at=history.seen.as_of if history.seen else None,
        compared=_compare_audits(file, owner, history, unknown),
    )


def _compare_audits(
    file: NamedFile, owner: JobCurrent | None, history: History, unknown: list[str]
) -> Removals | None:
    """None if two audits cannot be compared, or if the job runs."""
    is_live = owner is not None and not owner.terminal
    if history.seen is None or history.gone is None or file.job_id is None or is_live:
        return None
    first = StorageAudit.objects.get(audit_id=history.seen.audit_id)
    second = history.gone
    if first.as_of is None or second.as_of is None:
        return None
    if JobStorage.objects.filter(audit=first, directory=file.directory, terminal=False).exists():
        return None
    ended_storages = JobStorage.objects.filter(
        audit=first, terminal=True, root__in=second.roots
    ).exclude(job_id="")
    newest_first = ended_storages.order_by("-newest_modified", "-id").values_list(
        "job_id", flat=True
    )
    job_ids = {file.job_id, *newest_first[:MOST_COMPARED]}
    try:
        before = audited_files.files_of_jobs(first, job_ids)
        remaining = {row["path"] for row in audited_files.files_of_jobs(second, job_ids)}
    except TooMany:
        unknown.append(gettext("Ended jobs have more files than are compared here."))
        return None
    except (OSError, BadManifest):
        unknown.append(gettext("The lists of files before and after could not be compared."))
        return None
    return Removals.between(before, remaining, file.job_id, first.as_of, second.as_of)
