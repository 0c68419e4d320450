from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ingest.flink_rest.versions import named_release
from ingest.messages import Message, Value, join_messages, list_text, message, plural
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

IN_FLIGHT_BUGS = ("FLINK-38483",)
RESCALED_IN_FLIGHT_BUGS = ("FLINK-22686", "FLINK-31963", "FLINK-35351", "FLINK-38267")
OPERATOR_STATE_BUGS = ("FLINK-33863", "FLINK-34063")
"""Known bugs for which a start from a snapshot that holds this fails or loses state."""

Match = tuple[StoredOperator, PlannedOperator]
Answer = tuple[Outcome, Message, str]
"""Outcome, text and source of a reason."""


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
    matched = [(fate.stored, fate.planned) for fate in fates if fate.stored and fate.planned]
    restored = [stored for stored, _ in matched]
    checks = {"version": _version(snapshot, job)}
    checks |= {"operators": _mapping(fates, job), "parallelism": _parallelism(matched)}
    if not job.took_snapshot:
        checks |= {
            "backend": _backend(snapshot, job, restored),
            "types": _types(job, restored),
            "in_flight": _in_flight(snapshot),
            "finished": _finished(snapshot),
            "hooks": _hooks(snapshot),
        }
    checks |= {"files": _files(snapshot, fates), "known_bug": _bugs(snapshot, job, matched)}
    reasons = [
        Reason(outcome, check, text, source)
        for check, answers in checks.items()
        for outcome, text, source in answers
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


def _version(snapshot: Snapshot, job: Job) -> Iterator[Answer]:
    if job.took_snapshot:
        yield ("restores", message("This run of the job wrote it."), FORMATS)
        return
    target = _minor(job.flink_version)
    newest = next(
        (number for first, last, number in NEWEST_FORMAT if target and first <= target <= last),
        None,
    )
    if target is None or newest is None:
        yield (
            "unknown",
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
        yield (
            "refused",
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
        yield (
            "unknown",
            message(
                "It may be of a later release than Flink {version:name}, which does not promise to "
                "read it (format {format:number}).",
                **values,
            ),
            UPGRADING,
        )
    elif (writer or oldest) < _READ_SINCE:
        yield (
            "unknown",
            message(
                "It may be of a release before 1.8, whose snapshots Flink {version:name} does not "
                "promise to read (format {format:number}).",
                **values,
            ),
            UPGRADING,
        )
    elif oldest[0] < target[0] and any(operator.has_state for operator in snapshot.operators):
        yield (
            "unknown",
            message(
                "Flink does not guarantee that state of 1.x can be read by 2.x: Kryo 5 does not "
                "read what Kryo 2 wrote, and collections within POJOs have other serializers. "
                "Which serializers its state has is not known."
            ),
            NOTES_2_0,
        )
    else:
        yield (
            "restores",
            message("Flink {version:name} reads _metadata of format {format:number}.", **values),
            FORMATS,
        )


def _writers(snapshot_format: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    return next(
        ((first, last) for first, last, number in NEWEST_FORMAT if number == snapshot_format),
        ((0, 0), (99, 0)),
    )


def _mapping(fates: Sequence[OperatorFate], job: Job) -> Iterator[Answer]:
    if not job.vertices:
        yield ("unknown", message("The plan of the job is not known."), REST)
    unknown = [operator for operator in fates if operator.fate == "unknown"]
    if unknown:
        yield (
            "unknown",
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
        lacking = message(
            "The job has no operator for the state of {names:message}.", names=_names_text(certain)
        )
        effect = (
            message("It is left behind, as allowed.")
            if job.may_drop
            else message(
                "Flink refuses that unless it is started with allowNonRestoredState, and then "
                "loses it."
            )
        )
        outcome: Outcome = "restores" if job.may_drop else "refused"
        yield outcome, join_messages((lacking, effect), " "), POINTER
    if doubtful and not job.may_drop:
        yield (
            "unknown",
            message(
                "The job has no operator for {names:message}, of which only a coordinator or empty "
                "files have state: whether Flink refuses that depends on the release.",
                names=_names_text(doubtful),
            ),
            POINTER,
        )
    if job.vertices and not unknown and not dropped:
        yield ("restores", message("Every operator with state is in the job."), POINTER)


def _parallelism(matched: Sequence[Match]) -> Iterator[Answer]:
    is_equal = True
    for stored, planned in matched:
        name = stored.name or planned.name
        values: dict[str, Value] = {"name": name, "max": stored.max_parallelism}
        if planned.parallelism is None or planned.max_parallelism is None:
            is_equal = False
            yield (
                "unknown",
                message("The parallelism of {name:name} is not known.", name=name),
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
            yield outcome, text, ASSIGNMENT
        elif planned.max_parallelism != stored.max_parallelism:
            is_equal = False
            yield (
                "unknown",
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
        yield (
            "restores",
            message("The maximum parallelism of each operator is that of its state."),
            ASSIGNMENT,
        )


def _backend(snapshot: Snapshot, job: Job, restored: Sequence[StoredOperator]) -> Iterator[Answer]:
    keyed = {name for operator in restored for name in operator.keyed}
    if not keyed:
        return
    if keyed == {SAVEPOINT_KEYED}:
        yield (
            "restores",
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
        yield (
            "refused",
            message(
                "Its keyed state is of incremental checkpoints; the HashMap state backend of the "
                "job does not read that. A canonical savepoint can change the backend."
            ),
            HEAP,
        )
    elif job_backend is None or snapshot_backend is None or job_backend != snapshot_backend:
        yield (
            "unknown",
            message(
                "Its keyed state is in the form of a backend ({its:name}), and the job has "
                "{mine:name}. Only a canonical savepoint is sure to be read by another backend.",
                **values,
            ),
            COMPARED,
        )
    elif changelog is not False or not keyed <= plain_handles:
        yield (
            "unknown",
            message(
                "The changelog of state is on, or may be, in the job or in the snapshot: whether "
                "one reads the other is not known."
            ),
            BACKENDS,
        )
    else:
        yield (
            "restores",
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


def _types(job: Job, restored: Sequence[StoredOperator]) -> Iterator[Answer]:
    if not any(operator.has_state for operator in restored):
        return
    if job.keeps_types:
        yield (
            "restores",
            message(
                "Types, serializers, time-to-live and timers of state are taken to be unchanged, "
                "as stated."
            ),
            SCHEMAS,
        )
    else:
        yield (
            "unknown",
            message(
                "Flink does not report the types, serializers, time-to-live and timers of the "
                "job's state. If they are those of the snapshot, say so (--types-unchanged, "
                "types=unchanged)."
            ),
            SCHEMAS,
        )


def _in_flight(snapshot: Snapshot) -> Iterator[Answer]:
    if not any(operator.holds_in_flight for operator in snapshot.operators):
        return
    yield (
        "unknown",
        message(
            "It is an unaligned checkpoint with records in flight: Flink supports it only for the "
            "same job graph and record types, and the same minor release."
        ),
        COMPARED,
    )


def _finished(snapshot: Snapshot) -> Iterator[Answer]:
    if any(operator.has_finished for operator in snapshot.operators):
        yield (
            "unknown",
            message(
                "Tasks had finished when it was taken. Flink refuses that for a changed graph, and "
                "whether the graph within chains is the same is not known."
            ),
            FINISHED,
        )


def _hooks(snapshot: Snapshot) -> Iterator[Answer]:
    if snapshot.master_states:
        yield (
            "unknown",
            message(
                "It holds state of hooks of the JobManager ({names:names}); whether the job has "
                "them is not reported.",
                names=list(snapshot.master_states),
            ),
            HOOKS,
        )


def _files(snapshot: Snapshot, fates: Sequence[OperatorFate]) -> Iterator[Answer]:
    needed = [
        operator.stored for operator in fates if operator.stored and operator.fate != "dropped"
    ]
    missing = sum(operator.missing for operator in needed)
    if missing:
        yield (
            "refused",
            plural(
                missing,
                "{missing:count} file of its state is missing or too short.",
                "{missing:count} files of its state are missing or too short.",
                missing=missing,
            ),
            COMPARED,
        )
    if snapshot.unchecked:
        yield (
            "unknown",
            message(
                "Whether all files of its state are there is not known: {why:text}",
                why=snapshot.unchecked,
            ),
            COMPARED,
        )
    elif not missing:
        yield (
            "restores",
            plural(
                snapshot.files,
                "The {files:count} file that it refers to is there.",
                "All {files:count} files that it refers to are there.",
                files=snapshot.files,
            ),
            COMPARED,
        )


def _bugs(snapshot: Snapshot, job: Job, matched: Sequence[Match]) -> Iterator[Answer]:
    in_flight = any(operator.holds_in_flight for operator in snapshot.operators)
    rescaled = any(stored.parallelism != planned.parallelism for stored, planned in matched)
    has_operator_state = any(kind.endswith("-op") for stored, _ in matched for kind in stored.kinds)
    issues = (
        *(RESCALED_IN_FLIGHT_BUGS if in_flight and rescaled else ()),
        *(IN_FLIGHT_BUGS if in_flight else ()),
        *(OPERATOR_STATE_BUGS if has_operator_state else ()),
    )
    # The snapshot decides, not the setting of the job.
    checkpointing = {**(job.facts.checkpointing or {}), "unaligned": in_flight}
    facts = replace(job.facts, flink_version=job.flink_version, checkpointing=checkpointing)
    for issue in issues:
        bug = BY_ISSUE[issue]
        known = message(
            "Flink {version:name} has {issue:name}, or may have it.",
            version=job.flink_version or "?",
            issue=issue,
        )
        if bug.exposure(facts) != "no":
            yield (
                "unknown",
                join_messages((known, bug.effect, bug.way_out), " "),
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
