"""Whether a job restores from a snapshot, by its ``_metadata``, its files and data of the job."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from time import monotonic

from django.db.models import QuerySet

from ingest.errors import IngestError
from ingest.messages import message
from ingest.metadata.files import MetadataFile
from ingest.metadata.handles import handles_of
from ingest.metadata.owners import job_id_of, owner_directory
from ingest.metadata.pieces import (
    End,
    Handle,
    Header,
    KeyedState,
    Operator,
    Piece,
    Properties,
    Subtask,
)
from ingest.storage.directories import Kind, directories
from ingest.uris import is_below
from spark_jobs.diagnosis.preflight.judging import Preflight, judge
from spark_jobs.diagnosis.preflight.subjects import Job, PlannedOperator, Snapshot, StoredOperator
from webapp.checkpoints.models import CheckpointFact
from webapp.findings.known_bugs import facts_of
from webapp.fleet.models import JobCurrent
from webapp.lib.storage_uris import canonical_or_none
from webapp.storage.xray.location import NotLocated, find_metadata, metadata_path, root_of

MOST_BYTES = 100_000_000
MOST_HANDLES = 300_000
MOST_ENTRIES = 500_000
"""Entries to list, in all directories that have files of the snapshot."""
MOST_LISTING_S = 30
MOST_RUNS = 20
"""Jobs whose id begins as the snapshot's directory says."""


@dataclass(frozen=True)
class Answer:
    """``why`` nothing was compared, or "". ``took_it``: this run of the job took the snapshot."""

    snapshot: Snapshot | None = None
    result: Preflight | None = None
    why: str = ""
    took_it: bool = False


def preflight(
    job: JobCurrent, written: str = "", *, may_drop: bool = False, keeps_types: bool = False
) -> Answer:
    """``written``: the snapshot, "" for the newest retained one. Errors are in the answer."""
    if not written:
        newest = _completed(job).exclude(discarded=True).first()
        if newest is None:
            return Answer(why=message("No retained snapshot of this job is known: name one."))
        written = newest.external_path or ""
    try:
        file = find_metadata(written)
        contents = _read(file)
    except FileNotFoundError:
        return Answer(why=message("{path:text} is not there.", path=written))
    except (NotLocated, IngestError, OSError) as error:
        return Answer(why=str(error))
    run = _run_that_took(file, contents.checkpoint_id)
    stored = _with_files(contents, file)
    if run:
        backend = (run.checkpoint_config or {}).get("state_backend")
        stored = replace(stored, flink_version=run.flink_version, backend=backend)
    took_it = run is not None and run.pk == job.pk
    operators = contents.planned() if took_it else _newest_operators(job)
    config = job.checkpoint_config or {}
    planned_job = Job(
        job.flink_version,
        tuple(_vertices(job, operators or {})),
        operators,
        config.get("state_backend"),
        config.get("changelog_enabled"),
        took_it,
        may_drop,
        keeps_types,
        facts_of(job),
    )
    return Answer(stored, judge(stored, planned_job), took_it=took_it)


def _completed(job: JobCurrent) -> QuerySet[CheckpointFact]:
    """Snapshots of this run, newest first: another deployment may have the same job id."""
    completed = CheckpointFact.objects.filter(
        **job.identity, outcome="completed", external_path__isnull=False
    ).exclude(external_path="")
    if job.start_time:
        completed = completed.filter(trigger_time__gte=job.start_time)
    return completed.order_by("-trigger_time")


def _run_that_took(file: MetadataFile, checkpoint_id: int) -> JobCurrent | None:
    """The run that Flink reported for this checkpoint. Its directory may be of an earlier run."""
    job_id = job_id_of(owner_directory(file.directory))
    name = file.directory.rpartition("/")[2].split("-")
    id_prefix = job_id or (name[1] if name[0] == "savepoint" and len(name) > 1 else "")
    if not id_prefix:
        return None
    for job in JobCurrent.objects.filter(job_id__startswith=id_prefix).order_by("-pk")[:MOST_RUNS]:
        facts = _completed(job).filter(checkpoint_id=checkpoint_id) if job.start_time else ()
        for fact in facts:
            try:
                if metadata_path(fact.external_path or "") == file.path:
                    return job
            except NotLocated:
                continue
    return None


def _newest_operators(job: JobCurrent) -> Mapping[str, PlannedOperator] | None:
    newest = _completed(job).exclude(discarded=True).first() if job.start_time else None
    if newest is None:
        return None
    try:
        return _read(find_metadata(newest.external_path or "")).planned()
    except (NotLocated, IngestError, OSError):
        return None


def _vertices(
    job: JobCurrent, operators: Mapping[str, PlannedOperator]
) -> Iterator[PlannedOperator]:
    for vertex_id, vertex in job.vertices.items():
        most = vertex.get("max_parallelism")
        if most is None and vertex_id in operators:
            most = operators[vertex_id].max_parallelism
        name = vertex.get("name") or vertex_id
        yield PlannedOperator(vertex_id, name, vertex.get("parallelism"), most)


class _NotCompared(IngestError):
    """The ``_metadata`` is too large, or not as Flink writes it."""


class _Contents:
    """Contents of a ``_metadata``. ``paths``: the least length of each file, by operator and path."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.properties: Properties | None = None
        self.operators: dict[str, StoredOperator] = {}
        self.paths: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._handles = 0

    @property
    def checkpoint_id(self) -> int:
        return self.header.checkpoint_id if self.header else -1

    def planned(self) -> dict[str, PlannedOperator]:
        return {
            key: PlannedOperator(
                key, stored.name or key, stored.parallelism, stored.max_parallelism
            )
            for key, stored in self.operators.items()
        }

    def add(self, piece: Piece) -> None:
        if isinstance(piece, Header):
            self.header = piece
        elif isinstance(piece, End):
            self.properties = piece.properties
        elif isinstance(piece, Operator):
            if piece.operator_id in self.operators:
                raise _NotCompared(message("It names an operator twice."))
            self.operators[piece.operator_id] = StoredOperator(
                *piece[:5], has_finished=piece.fully_finished
            )
        elif isinstance(piece, Subtask):
            self.operators[piece.operator.operator_id].has_finished |= piece.finished
        elif isinstance(piece, KeyedState):
            operator = self.operators[piece.operator.operator_id]
            operator.has_state = operator.is_certain = True
            if not piece.raw:
                operator.keyed.add(piece.keyed.state_class)
        for handle in handles_of(piece):
            self._handles += 1
            if self._handles > MOST_HANDLES:
                raise _NotCompared(
                    message("It has more than {most:count} handles.", most=MOST_HANDLES)
                )
            self._add(handle)

    def _add(self, handle: Handle) -> None:
        operator, stream = self.operators[handle.operator.operator_id], handle.stream
        operator.has_state = True
        operator.state_bytes += handle.state_bytes
        if not handle.state_class.startswith("Empty"):
            operator.is_certain |= handle.kind != "coordinator"
            operator.kinds.add(handle.kind)
        if stream and stream.path:
            paths = self.paths[operator.operator_id]
            length = (stream.offset or 0) + stream.bytes
            paths[stream.path] = max(paths.get(stream.path, 0), length)


def _read(file: MetadataFile) -> _Contents:
    """Raises ``MetadataError`` and ``OSError``."""
    if file.size is not None and file.size > MOST_BYTES:
        raise _NotCompared(message("Its _metadata has {size:bytes}.", size=file.size))
    contents = _Contents()
    for piece in file.pieces():
        contents.add(piece)
    return contents


def _with_files(contents: _Contents, file: MetadataFile) -> Snapshot:
    paths: dict[str, int] = {}
    for least_lengths in contents.paths.values():
        for path, length in least_lengths.items():
            paths[path] = max(paths.get(path, 0), length)
    missing, unchecked = _missing(paths)
    for key, least_lengths in contents.paths.items():
        contents.operators[key].missing = len(missing & least_lengths.keys())
    header, properties = contents.header, contents.properties
    own_directory = owner_directory(file.directory)
    foreign = {
        _parent(path)
        for path in paths
        if not is_below(canonical_or_none(path) or path, own_directory)
    }
    return Snapshot(
        file.path,
        contents.checkpoint_id,
        header.dialect.version if header else 0,
        tuple(contents.operators.values()),
        type_name=properties.name if properties else None,
        savepoint_format=properties.savepoint_format if properties else None,
        master_states=header.master_states if header else (),
        files=len(paths),
        unchecked=unchecked,
        foreign=tuple(sorted(foreign)),
    )


def _parent(path: str) -> str:
    return path.rpartition("/")[0]


def _missing(paths: Mapping[str, int]) -> tuple[set[str], str]:
    """Paths that are missing or too short, and why some were not looked for, or ""."""
    by_directory: defaultdict[str, list[str]] = defaultdict(list)
    for path in paths:
        by_directory[_parent(canonical_or_none(path) or path)].append(path)
    missing: set[str] = set()
    unchecked, deadline, entries = "", monotonic() + MOST_LISTING_S, 0
    for directory, directory_paths in sorted(by_directory.items()):
        paths_by_name = {path.rpartition("/")[2]: path for path in directory_paths}
        lengths: dict[str, int] = {}
        try:
            for name, length in _list_files(directory):
                entries += 1
                if entries > MOST_ENTRIES or monotonic() > deadline:
                    return missing, message(
                        "Its directories have too many files to be listed here."
                    )
                if name in paths_by_name:
                    lengths[name] = length
        except (NotLocated, IngestError, OSError, ValueError, ImportError) as error:
            unchecked = str(error) or type(error).__name__
            continue
        missing |= {
            path for name, path in paths_by_name.items() if lengths.get(name, -1) < paths[path]
        }
    return missing, unchecked


def _list_files(directory: str) -> Iterable[tuple[str, int]]:
    row = root_of(directory)
    if row is None:
        raise NotLocated(
            message(
                "{path:text} lies below no registered storage root; add one to have it read.",
                path=directory,
            )
        )
    root = row.place
    tree = directories(root.reading)
    below = root.readable(directory)[len(root.reading.rstrip("/")) :]
    try:
        for entry in tree.entries(below):
            if entry.kind is Kind.LINK:
                raise NotLocated(message("{path:text} has links.", path=directory))
            if entry.kind is Kind.FILE:
                yield entry.name, entry.bytes
    except FileNotFoundError:
        # If the root cannot be listed either, nothing is known of its files.
        if next(iter(tree.entries("")), None) is None:
            raise
