"""Makes the input of the storage rules from one audit, without jobs that no rule could report."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from django.db.models import Count, Q, Sum

from spark_jobs.diagnosis.storage_samples import (
    Dependence,
    IdleSnapshots,
    IncompleteSnapshot,
    Share,
    StorageJobSample,
    StorageRootSample,
)
from spark_jobs.filesystem_calls.calls import calls_of_files
from spark_jobs.storage_words import NOT_CLEANABLE, ORPHAN
from webapp.fleet.models import JobCurrent
from webapp.lib.chunks import chunks
from webapp.lib.instants import epoch_ms
from webapp.storage.idle_snapshots import LAST, NEEDED, SUPERSEDED, ended_jobs, kept_savepoints
from webapp.storage.models import (
    MISSING_PATH_LENGTH,
    ChainLink,
    CheckpointStorage,
    JobStorage,
    MissingFile,
    RootFigures,
    StorageAudit,
    VerdictFigures,
)
from webapp.storage.written_files import files_by_directory

JOBS_AT_ONCE = 500
FEW_FILES = 50
"""Calls of the file system are estimated for jobs with at least so many small files."""
MOST_NAMES = 5
MOST_SNAPSHOTS = 50
MOST_EXAMPLES = 3


def root_samples(audit: StorageAudit, roots: Iterable[RootFigures]) -> Iterator[StorageRootSample]:
    for row in roots:
        orphans = VerdictFigures.objects.filter(audit=audit, root=row.root, verdict=ORPHAN)
        kinds = orphans.values("kind").annotate(Sum("files"), Sum("bytes"))
        jobs = JobStorage.objects.filter(audit=audit, root=row.root)
        withheld = audit.withheld.get(row.root)
        yield StorageRootSample(
            root=row.root,
            audited_at_ms=epoch_ms(row.as_of),
            all=Share(row.files, row.bytes),
            orphans=Share(row.orphan_files, row.orphan_bytes),
            waste=Share(row.retained_waste_files, row.retained_waste_bytes),
            kept=Share(row.kept_files, row.kept_bytes),
            orphan_kinds=tuple(
                sorted(
                    (kind["kind"], Share(kind["files__sum"], kind["bytes__sum"])) for kind in kinds
                )
            ),
            clean_up_barred_by=(
                *(NOT_CLEANABLE.get(code, code) for code in row.not_cleanable),
                *([str(withheld)] if withheld else []),
            ),
            jobs_with_most_orphans=_names(
                jobs.filter(orphan_bytes__gt=0).order_by("-orphan_bytes", "-id")[:MOST_NAMES]
            ),
            jobs_with_most_waste=_names(
                jobs.filter(retained_waste_bytes__gt=0).order_by("-retained_waste_bytes", "-id")[
                    :MOST_NAMES
                ]
            ),
            idle=tuple(_idle(row)),
        )


def _idle(root: RootFigures) -> Iterator[IdleSnapshots]:
    jobs = ended_jobs(root)
    ended = {(job.cluster, job.job_id): job for job in jobs if job.cluster}
    for savepoint in kept_savepoints(root):
        job = ended.get((savepoint.cluster, savepoint.job_id))
        if savepoint.age_ms is not None and (
            savepoint.standing == SUPERSEDED or (savepoint.standing == LAST and job is not None)
        ):
            yield IdleSnapshots(
                savepoint.path,
                savepoint.age_ms,
                Share(savepoint.files, savepoint.bytes),
                is_savepoint=True,
                job_name=job.name if job else None,
            )
    for ended_job in jobs:
        if ended_job.idle_ms is not None and ended_job.standing != NEEDED:
            yield IdleSnapshots(
                ended_job.directory,
                ended_job.idle_ms,
                Share(ended_job.files, ended_job.bytes),
                is_savepoint=False,
                job_name=ended_job.name,
            )


def job_samples(
    audit: StorageAudit, roots: Iterable[RootFigures], least_small_files: float
) -> Iterator[StorageJobSample]:
    """Samples of jobs with at least ``least_small_files`` or ``FEW_FILES`` small files, merged
    files, references to other jobs, or snapshots with missing files.
    """
    is_reportable = (
        Q(small_files__gte=min(least_small_files, FEW_FILES))
        | Q(segmented_files__gt=0)
        | Q(foreign_files__gt=0)
        | Q(missing_files__gt=0)
    )
    chain_lengths = _ChainLengths(audit)
    for root in roots:
        incomplete_snapshots = _incomplete_snapshots(audit, root.root)
        rows = (
            JobStorage.objects.filter(is_reportable, audit=audit, root=root.root)
            .order_by("id")
            .iterator(chunk_size=JOBS_AT_ONCE)
        )
        for chunk in chunks(rows, JOBS_AT_ONCE):
            depends_on = _dependences(audit, chunk)
            snapshots = _snapshot_counts(audit, chunk)
            job_ids = [row.job_id for row in chunk if row.small_files >= FEW_FILES]
            written_files = files_by_directory(
                CheckpointStorage.objects.filter(audit=audit, job_id__in=job_ids)
            )
            current = {
                job.key: job for job in JobCurrent.objects.filter(job_id__in=job_ids).defer("graph")
            }
            for row in chunk:
                key = row.cluster, row.job_id
                current_job, files = current.get(key), written_files.get(row.directory)
                retained, dependent = snapshots.get(key, (0, 0))
                yield StorageJobSample(
                    root=root.root,
                    cluster=row.cluster,
                    job_id=row.job_id,
                    audited_at_ms=epoch_ms(root.as_of),
                    job_name=row.job_name,
                    ended=row.terminal,
                    all=Share(row.files, row.bytes),
                    small_files=row.small_files,
                    segmented=Share(row.segmented_files, row.segmented_file_bytes),
                    live_segment_bytes=row.live_segment_bytes,
                    depends_on=tuple(depends_on[row.directory]) if row.foreign_files else (),
                    chain=chain_lengths.behind(row.directory) if row.foreign_files else 0,
                    retained=retained,
                    dependent=dependent,
                    incomplete=tuple(incomplete_snapshots.pop(key, ())),
                    calls=None if files is None else calls_of_files(files),
                    interval_ms=current_job.checkpoint_interval_ms if current_job else None,
                )
        # These are savepoints of unknown jobs, and snapshots of jobs without a directory in this
        # root.
        for (cluster, job_id), incomplete in incomplete_snapshots.items():
            yield StorageJobSample(
                root.root, cluster, job_id, epoch_ms(root.as_of), incomplete=tuple(incomplete)
            )


def _incomplete_snapshots(
    audit: StorageAudit, root: str
) -> dict[tuple[str, str], list[IncompleteSnapshot]]:
    """(cluster, job id) → its newest snapshots in the root that refer to missing files."""
    snapshots: dict[tuple[str, str], list[IncompleteSnapshot]] = defaultdict(list)
    rows = CheckpointStorage.objects.filter(audit=audit, root=root, missing_files__gt=0).order_by(
        "-checkpoint_id", "metadata_path"
    )
    for row in rows.iterator(chunk_size=JOBS_AT_ONCE):
        snapshots_of_job = snapshots[row.cluster, row.job_id]
        if len(snapshots_of_job) >= MOST_SNAPSHOTS:
            continue
        files = list(
            MissingFile.objects.filter(audit=audit, metadata_path=row.metadata_path).order_by("id")[
                :MOST_EXAMPLES
            ]
        )
        snapshots_of_job.append(
            IncompleteSnapshot(
                path=row.metadata_path,
                missing=Share(row.missing_files, row.missing_bytes),
                checkpoint_id=row.checkpoint_id,
                is_savepoint=row.is_savepoint,
                is_newest=not row.is_savepoint
                and row.checkpoint_id is not None
                and row.checkpoint_id == newest_checkpoint_of(audit, row),
                # All its files are superseded, or none: a later checkpoint supersedes a snapshot.
                superseded=bool(files) and all(file.superseded for file in files),
                examples=tuple(file.path for file in files),
            )
        )
    return snapshots


def newest_checkpoint_of(audit: StorageAudit, row: CheckpointStorage) -> int | None:
    """The id of the newest retained checkpoint of the job, in any root."""
    storages = JobStorage.objects.filter(
        audit=audit, cluster=row.cluster, job_id=row.job_id, newest_checkpoint_id__isnull=False
    )
    return (
        storages.order_by("-newest_checkpoint_id")
        .values_list("newest_checkpoint_id", flat=True)
        .first()
    )


def _dependences(audit: StorageAudit, jobs: Sequence[JobStorage]) -> dict[str, list[Dependence]]:
    """Directory of a job → the other jobs on whose files it depends."""
    dependences: dict[str, list[Dependence]] = defaultdict(list)
    dependent = [row.directory[:MISSING_PATH_LENGTH] for row in jobs if row.foreign_files]
    if not dependent:
        return dependences
    links = list(ChainLink.objects.filter(audit=audit, kind="refers", directory__in=dependent))
    needed_jobs = JobStorage.objects.filter(
        audit=audit, directory__in={link.other_directory for link in links}
    )
    needed_by_directory = {row.directory: row for row in needed_jobs}
    for link in links:
        other = needed_by_directory.get(link.other_directory)
        dependences[link.directory].append(
            Dependence(
                link.other_job_id,
                link.files,
                link.bytes,
                other.job_name if other else None,
                other.terminal if other else None,
            )
        )
    return dependences


def _snapshot_counts(
    audit: StorageAudit, jobs: Sequence[JobStorage]
) -> dict[tuple[str, str], tuple[int, int]]:
    """(cluster, job id) → number of its snapshots, number of those that need files of other jobs."""
    dependent_ids = [row.job_id for row in jobs if row.foreign_files]
    if not dependent_ids:
        return {}
    rows = CheckpointStorage.objects.filter(audit=audit, job_id__in=dependent_ids).order_by()
    counts = rows.values("cluster", "job_id").annotate(
        retained=Count("id"), dependent=Count("id", filter=Q(foreign_files__gt=0))
    )
    return {
        (count["cluster"], count["job_id"]): (count["retained"], count["dependent"])
        for count in counts
    }


class _ChainLengths:
    """Lengths of chains of jobs, in which each job needs files of the next job."""

    def __init__(self, audit: StorageAudit) -> None:
        self._needs: dict[str, set[str]] = defaultdict(set)
        for link in ChainLink.objects.filter(audit=audit).only(
            "directory", "job_id", "other_directory"
        ):
            self._needs[link.end].add(link.other_directory)
        self._lengths: dict[str, int] = {}

    def behind(self, directory: str) -> int:
        """Number of jobs in the longest chain behind ``directory``. Stops at circles, which only
        forged names could make.
        """
        stack = [directory]
        while stack:
            current = stack[-1]
            needed = self._needs.get(current, ())
            if current not in self._lengths:
                self._lengths[current] = 0
                stack += [other for other in needed if other not in self._lengths]
                continue
            stack.pop()
            self._lengths[current] = max(
                (1 + self._lengths[other] for other in needed if other != current),
                default=0,
            )
        return self._lengths[directory]


def _names(rows: Iterable[JobStorage]) -> tuple[str, ...]:
    return tuple(row.job_name or row.job_id for row in rows)
