from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ingest.flink_rest.versions import named_release
from ingest.messages import Message, Value, list_text, message, plural
from spark_jobs.diagnosis.known_bugs import BY_ISSUE, KNOWN_BUGS
from spark_jobs.diagnosis.preflight.subjects import (
    SAVEPOINT_KEYED,
    Job,
    PlannedOperator,
    Snapshot,
    StoredOperator,
)

Outcome = Literal["restores", "refused", "unknown"]
Fate = Literal["matched", "new", "dropped", "unknown", "no_state"]

_CODE = (
    "https://github.com/apache/flink/blob/release-1.20/flink-runtime/src/main/java/org/apache/"
    "flink/runtime"
)
_DOCS = "https://nightlies.apache.org/flink/flink-docs-stable/docs"
POINTER = f"{_CODE}/checkpoint/Checkpoints.java"
ASSIGNMENT = f"{_CODE}/checkpoint/StateAssignmentOperation.java"
FORMATS = f"{_CODE}/checkpoint/metadata/MetadataSerializers.java"
HEAP = f"{_CODE}/state/heap/HeapRestoreOperation.java"
HOOKS = f"{_CODE}/checkpoint/hooks/MasterHooks.java"
FINISHED = f"{_CODE}/checkpoint/VertexFinishedStateChecker.java"
COMPARED = f"{_DOCS}/ops/state/checkpoints_vs_savepoints/"
BACKENDS = f"{_DOCS}/ops/state/state_backends/"
UPGRADING = f"{_DOCS}/ops/upgrading/"
SCHEMAS = f"{_DOCS}/dev/datastream/fault-tolerance/serialization/schema_evolution/"
NOTES_2_0 = "https://nightlies.apache.org/flink/flink-docs-release-2.0/release-notes/flink-2.0/"
REST = f"{_DOCS}/ops/rest_api/"

NEWEST_FORMAT = (
    ((1, 3), (1, 10), 2),
    ((1, 11), (1, 15), 3),
    ((1, 16), (1, 20), 4),
    ((2, 0), (2, 0), 5),
    ((2, 1), (2, 3), 6),
)
"""First and last minor release, and the newest ``_metadata`` format that they read."""
_READ_SINCE = (1, 8)
"""The oldest release whose snapshots newer releases promise to read."""
_CHANGELOG_SINCE = (1, 15)

_IN_FLIGHT, _IN_FLIGHT_RESCALED, _OF_OPERATORS = "in_flight", "rescaled", "operator_state"
_NEEDED_CONTENT = {
    "FLINK-22686": _IN_FLIGHT_RESCALED,
    "FLINK-31963": _IN_FLIGHT_RESCALED,
    "FLINK-35351": _IN_FLIGHT_RESCALED,
    "FLINK-38267": _IN_FLIGHT_RESCALED,
    "FLINK-38483": _IN_FLIGHT,
    "FLINK-33863": _OF_OPERATORS,
    "FLINK-34063": _OF_OPERATORS,
}
"""Known bugs → what a snapshot must hold for a start from it to fail or lose state."""


@dataclass(frozen=True)
class Reason:
    """``source``: address of a document or code that proves it."""

    outcome: Outcome
    check: str
    text: Message
    source: str


@dataclass(frozen=True)
class OperatorFate:
    """``stored`` is None if the snapshot lacks the operator, ``planned`` if the job may lack it."""

    fate: Fate
    stored: StoredOperator | None
    planned: PlannedOperator | None

    @property
    def operator_id(self) -> str:
        operator = self.stored or self.planned
        return operator.operator_id if operator else ""


@dataclass(frozen=True)
class Preflight:
    """``can_hit``: known bugs that can hit the job, at a restore or later."""

    outcome: Outcome
    reasons: tuple[Reason, ...]
    operators: tuple[OperatorFate, ...]
    can_hit: tuple[str, ...]

    @property
    def lost_bytes(self) -> int:
        return sum(
            operator.stored.state_bytes
            for operator in self.operators
            if operator.stored and operator.fate == "dropped"
        )


def judge(snapshot: Snapshot, job: Job) -> Preflight:
    fates = tuple(_fates(snapshot, job))
    matched = [operator for operator in fates if operator.fate == "matched"]
    restored = [operator.stored for operator in matched if operator.stored]
    reasons = [
        *_version(snapshot, job),
        *_mapping(fates, job),
        *_parallelism(matched),
        *_backend(snapshot, job, restored),
        *_types(job, restored),
        *_in_flight(snapshot, job),
        *_program(snapshot, job),
        *_files(snapshot, fates),
        *_bugs(snapshot, job, matched, restored),
    ]
    outcomes = {reason.outcome for reason in reasons}
    order: tuple[Outcome, ...] = ("refused", "unknown", "restores")
    return Preflight(
        next((outcome for outcome in order if outcome in outcomes), "unknown"),
        tuple(sorted(reasons, key=lambda reason: order.index(reason.outcome))),
        fates,
        tuple(bug.issue for bug in KNOWN_BUGS if bug.exposure(job.facts) == "can_hit"),
    )


def _fates(snapshot: Snapshot, job: Job) -> Iterator[OperatorFate]:
    planned = {
        **(job.operators or {}),
        **{operator.operator_id: operator for operator in job.vertices},
    }
    for stored in snapshot.operators:
        match = planned.pop(stored.operator_id, None)
        fate: Fate = "unknown"
        if match:
            fate = "matched"
        elif not stored.has_state:
            fate = "no_state"
        elif job.operators is not None:
            fate = "dropped"
        yield OperatorFate(fate, stored, match)
    yield from (OperatorFate("new", None, operator) for operator in planned.values())


def _minor(version: str | None) -> tuple[int, ...] | None:
    """(major, minor); None for vendors' releases, whose formats are unknown."""
    release = named_release(version)
    return release[0][:2] if release and not release[1] else None


def _version(snapshot: Snapshot, job: Job) -> Iterator[Reason]:
    if job.took_snapshot:
        yield Reason("restores", "version", message("This run of the job wrote it."), FORMATS)
        return
    target = _minor(job.flink_version)
    newest = next(
        (number for first, last, number in NEWEST_FORMAT if target and first <= target <= last),
        None,
    )
    if target is None or newest is None:
        yield Reason(
            "unknown",
            "version",
            message(
                "Which snapshots Flink {version:name} reads is not known: it is not a release of "
                "Apache Flink that was looked at.",
                version=job.flink_version or "?",
            ),
            FORMATS,
        )
        return
    values: dict[str, Value] = {
        "format": snapshot.format_version,
        "version": job.flink_version or "?",
    }
    if snapshot.format_version > newest:
        yield Reason(
            "refused",
            "version",
            message(
                "Its _metadata has format {format:number}; Flink {version:name} reads formats up "
                "to {newest:number}.",
                newest=newest,
                **values,
            ),
            FORMATS,
        )
        return
    writer = _minor(snapshot.flink_version)
    oldest, latest = _writers(snapshot.format_version)
    if (writer or latest) > target:
        yield Reason(
            "unknown",
            "version",
            message(
                "It may be of a later release than Flink {version:name}, which does not promise to "
                "read it (format {format:number}).",
                **values,
            ),
            UPGRADING,
        )
    elif (writer or oldest) < _READ_SINCE:
        yield Reason(
            "unknown",
            "version",
            message(
                "It may be of a release before 1.8, whose snapshots Flink {version:name} does not "
                "promise to read (format {format:number}).",
                **values,
            ),
            UPGRADING,
        )
    elif oldest[0] < target[0] and any(operator.has_state for operator in snapshot.operators):
        yield Reason(
            "unknown",
            "version",
            message(
                "Flink does not guarantee that state of 1.x can be read by 2.x: Kryo 5 does not "
                "read what Kryo 2 wrote, and collections within POJOs have other serializers. "
                "Which serializers its state has is not known."
            ),
            NOTES_2_0,
        )
    else:
        yield Reason(
            "restores",
            "version",
            message("Flink {version:name} reads _metadata of format {format:number}.", **values),
            FORMATS,
        )


def _writers(snapshot_format: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return next(
        ((first, last) for first, last, number in NEWEST_FORMAT if number == snapshot_format),
        ((0, 0), (99, 0)),
    )


def _mapping(fates: Sequence[OperatorFate], job: Job) -> Iterator[Reason]:
    if not job.vertices:
        yield Reason("unknown", "operators", message("The plan of the job is not known."), REST)
    unknown = [operator for operator in fates if operator.fate == "unknown"]
    if unknown:
        yield Reason(
            "unknown",
            "operators",
            message(
                "State of {names:message} belongs to no vertex of the plan. It may be of an "
                "operator within a chain, whose ids Flink does not report: let the job complete a "
                "checkpoint that Weir can read, which names all its operators.",
                names=_names_text(unknown),
            ),
            REST,
        )
    dropped = [operator for operator in fates if operator.fate == "dropped"]
    certain = [operator for operator in dropped if operator.stored and operator.stored.is_certain]
    doubtful = [operator for operator in dropped if operator not in certain]
    if certain:
        text = message(
            "The job has no operator for the state of {names:message}.", names=_names_text(certain)
        )
        if job.may_drop:
            text = message("{text:message} It is left behind, as allowed.", text=text)
            yield Reason("restores", "operators", text, POINTER)
        else:
            yield Reason(
                "refused",
                "operators",
                message(
                    "{text:message} Flink refuses that unless it is started with "
                    "allowNonRestoredState, and then loses it.",
                    text=text,
                ),
                POINTER,
            )
    if doubtful and not job.may_drop:
        yield Reason(
            "unknown",
            "operators",
            message(
                "The job has no operator for {names:message}, of which only a coordinator or empty "
                "files have state: whether Flink refuses that depends on the release.",
                names=_names_text(doubtful),
            ),
            POINTER,
        )
    if job.vertices and not unknown and not dropped:
        yield Reason(
            "restores", "operators", message("Every operator with state is in the job."), POINTER
        )


def _parallelism(matched: Sequence[OperatorFate]) -> Iterator[Reason]:
    is_equal = True
    for operator in matched:
        stored, planned = operator.stored, operator.planned
        if stored is None or planned is None:
            continue
        values: dict[str, Value] = {"name": _name(operator), "max": stored.max_parallelism}
        if planned.parallelism is None or planned.max_parallelism is None:
            is_equal = False
            yield Reason(
                "unknown",
                "parallelism",
                message("The parallelism of {name:name} is not known.", name=_name(operator)),
                REST,
            )
        elif planned.parallelism > stored.max_parallelism:
            is_equal = False
            text = message(
                "{name:name} has parallelism {parallelism:number}; the maximum parallelism of its "
                "state is {max:number}.",
                parallelism=planned.parallelism,
                **values,
            )
            outcome: Outcome = "refused" if stored.has_state else "unknown"
            yield Reason(outcome, "parallelism", text, ASSIGNMENT)
        elif planned.max_parallelism != stored.max_parallelism:
            is_equal = False
            yield Reason(
                "unknown",
                "parallelism",
                message(
                    "{name:name} has maximum parallelism {planned:number}, its state {max:number}. "
                    "Flink takes over that of the state unless the job sets its own, and then "
                    "refuses; whether it does is not reported.",
                    planned=planned.max_parallelism,
                    **values,
                ),
                POINTER,
            )
    if is_equal and matched:
        yield Reason(
            "restores",
            "parallelism",
            message("The maximum parallelism of each operator is that of its state."),
            ASSIGNMENT,
        )


def _backend(snapshot: Snapshot, job: Job, restored: Sequence[StoredOperator]) -> Iterator[Reason]:
    keyed = {name for operator in restored for name in operator.keyed}
    if not keyed or job.took_snapshot:
        return
    if keyed == {SAVEPOINT_KEYED}:
        yield Reason(
            "restores",
            "backend",
            message("It is a canonical savepoint, which every state backend reads."),
            BACKENDS,
        )
        return
    job_backend, snapshot_backend = _family(job.backend), _family(snapshot.backend)
    incremental = any(name.startswith("Incremental") for name in keyed)
    if incremental and snapshot_backend is None and snapshot.format_version < 5:
        snapshot_backend = "RocksDB"  # ForSt came with 2.0
    values = {"mine": job_backend or "?", "its": snapshot_backend or "?"}
    minor = _minor(job.flink_version) or (99, 0)
    changelog = job.changelog
    if changelog is None and minor < _CHANGELOG_SINCE:
        changelog = False
    plain_handles = {"IncrementalRemoteKeyedStateHandle", "KeyGroupsStateHandle", SAVEPOINT_KEYED}
    if incremental and job_backend == "HashMap":
        yield Reason(
            "refused",
            "backend",
            message(
                "Its keyed state is of incremental checkpoints; the HashMap state backend of the "
                "job does not read that. A canonical savepoint can change the backend."
            ),
            HEAP,
        )
    elif job_backend is None or snapshot_backend is None or job_backend != snapshot_backend:
        yield Reason(
            "unknown",
            "backend",
            message(
                "Its keyed state is in the form of a backend ({its:name}), and the job has "
                "{mine:name}. Only a canonical savepoint is sure to be read by another backend.",
                **values,
            ),
            COMPARED,
        )
    elif changelog is not False or not keyed <= plain_handles:
        yield Reason(
            "unknown",
            "backend",
            message(
                "The changelog of state is on, or may be, in the job or in the snapshot: whether "
                "one reads the other is not known."
            ),
            BACKENDS,
        )
    else:
        yield Reason(
            "restores",
            "backend",
            message("Snapshot and job have the same state backend, {mine:name}.", mine=job_backend),
            COMPARED,
        )


def _family(backend: str | None) -> str | None:
    name = (backend or "").lower()
    for word, family in (
        ("rocksdb", "RocksDB"),
        ("forst", "ForSt"),
        ("hashmap", "HashMap"),
        ("fsstatebackend", "HashMap"),
        ("memorystatebackend", "HashMap"),
    ):
        if word in name:
            return family
    return None


def _types(job: Job, restored: Sequence[StoredOperator]) -> Iterator[Reason]:
    if job.took_snapshot or not any(operator.has_state for operator in restored):
        return
    if job.keeps_types:
        yield Reason(
            "restores",
            "types",
            message(
                "Types, serializers, time-to-live and timers of state are taken to be unchanged, "
                "as stated."
            ),
            SCHEMAS,
        )
    else:
        yield Reason(
            "unknown",
            "types",
            message(
                "Flink does not report the types, serializers, time-to-live and timers of the "
                "job's state. If they are those of the snapshot, say so (--types-unchanged, "
                "types=unchanged)."
            ),
            SCHEMAS,
        )


def _in_flight(snapshot: Snapshot, job: Job) -> Iterator[Reason]:
    if job.took_snapshot or not any(operator.holds_in_flight for operator in snapshot.operators):
        return
    yield Reason(
        "unknown",
        "in_flight",
        message(
            "It is an unaligned checkpoint with records in flight: Flink supports it only for the "
            "same job graph and record types, and the same minor release."
        ),
        COMPARED,
    )


def _program(snapshot: Snapshot, job: Job) -> Iterator[Reason]:
    if job.took_snapshot:
        return
    if any(operator.has_finished for operator in snapshot.operators):
        yield Reason(
            "unknown",
            "finished",
            message(
                "Tasks had finished when it was taken. Flink refuses that for a changed graph, and "
                "whether the graph within chains is the same is not known."
            ),
            FINISHED,
        )
    if snapshot.master_states:
        yield Reason(
            "unknown",
            "hooks",
            message(
                "It holds state of hooks of the JobManager ({names:names}); whether the job has "
                "them is not reported.",
                names=list(snapshot.master_states),
            ),
            HOOKS,
        )


def _files(snapshot: Snapshot, fates: Sequence[OperatorFate]) -> Iterator[Reason]:
    needed = [
        operator.stored for operator in fates if operator.stored and operator.fate != "dropped"
    ]
    missing = sum(operator.missing for operator in needed)
    if missing:
        yield Reason(
            "refused",
            "files",
            plural(
                missing,
                "{missing:count} file of its state is missing or too short.",
                "{missing:count} files of its state are missing or too short.",
                missing=missing,
            ),
            COMPARED,
        )
    if snapshot.unchecked:
        yield Reason(
            "unknown",
            "files",
            message(
                "Whether all files of its state are there is not known: {why:text}",
                why=snapshot.unchecked,
            ),
            COMPARED,
        )
    elif not missing:
        yield Reason(
            "restores",
            "files",
            plural(
                snapshot.files,
                "The {files:count} file that it refers to is there.",
                "All {files:count} files that it refers to are there.",
                files=snapshot.files,
            ),
            COMPARED,
        )


def _bugs(
    snapshot: Snapshot,
    job: Job,
    matched: Sequence[OperatorFate],
    restored: Sequence[StoredOperator],
) -> Iterator[Reason]:
    in_flight = any(operator.holds_in_flight for operator in snapshot.operators)
    rescaled = any(
        operator.stored
        and operator.planned
        and operator.stored.parallelism != operator.planned.parallelism
        for operator in matched
    )
    has_operator_state = any(
        kind.endswith("-op") for operator in restored for kind in operator.kinds
    )
    has_content = {
        _IN_FLIGHT: in_flight,
        _IN_FLIGHT_RESCALED: in_flight and rescaled,
        _OF_OPERATORS: has_operator_state,
    }
    # The snapshot decides, not the setting of the job.
    checkpointing = {**(job.facts.checkpointing or {}), "unaligned": in_flight}
    facts = replace(job.facts, flink_version=job.flink_version, checkpointing=checkpointing)
    for issue, content in _NEEDED_CONTENT.items():
        bug = BY_ISSUE[issue]
        if has_content[content] and bug.exposure(facts) != "no":
            yield Reason(
                "unknown",
                "known_bug",
                message(
                    "Flink {version:name} has {issue:name}, or may have it. {effect:message} "
                    "{way_out:message}",
                    version=job.flink_version or "?",
                    issue=issue,
                    effect=bug.effect,
                    way_out=bug.way_out,
                ),
                bug.address,
            )


def _names_text(fates: Sequence[OperatorFate]) -> Message:
    return list_text([_name(operator) for operator in fates], 3)


def _name(operator: OperatorFate) -> str:
    if operator.stored and operator.stored.name:
        return operator.stored.name
    if operator.planned:
        return operator.planned.name
    return operator.operator_id
