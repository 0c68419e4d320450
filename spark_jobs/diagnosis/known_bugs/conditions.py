from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ingest.messages import message


@dataclass(frozen=True)
class JobFacts:
    """Facts about a job; None if not reported. ``configuration``: of its cluster.
    ``checkpointing``: its settings by the names of ``CheckpointConfig``. ``vertices``: names in its
    plan. ``exchanges``: ship strategies.
    """

    flink_version: str | None = None
    configuration: Mapping[str, Any] | None = None
    checkpointing: Mapping[str, Any] | None = None
    vertices: Collection[str] | None = None
    exchanges: Collection[str] | None = None


@dataclass(frozen=True)
class Condition:
    """``text`` names the condition, to stand after "with". ``holds`` returns None if unknown."""

    text: str
    holds: Callable[[JobFacts], bool | None]


def setting(
    text: str,
    keys: tuple[str, ...],
    accepts: Callable[[str], bool],
    default: str | None = None,
) -> Condition:
    """``accepts`` judges the first of ``keys`` that the cluster's configuration has, in small
    letters. If it has none, ``default`` is judged; None for settings that jobs may set in their
    code, which are then unknown.
    """

    def holds(facts: JobFacts) -> bool | None:
        if facts.configuration is None:
            return None
        values = (facts.configuration.get(key) for key in keys)
        texts = (str(value).strip().lower() for value in values if value is not None)
        value = next(texts, default)
        return None if value is None else accepts(value)

    return Condition(text, holds)


def checkpointing(text: str, name: str, accepts: Callable[[Any], bool]) -> Condition:
    """A checkpoint setting that Flink reports for the job."""

    def holds(facts: JobFacts) -> bool | None:
        value = (facts.checkpointing or {}).get(name)
        return None if value is None else accepts(value)

    return Condition(text, holds)


def has_vertex(text: str, *words: str) -> Condition:
    """A vertex whose name has one of these words."""

    def holds(facts: JobFacts) -> bool | None:
        if facts.vertices is None:
            return None
        return any(word in name for name in facts.vertices for word in words)

    return Condition(text, holds)


def unreported(text: str) -> Condition:
    """A setting that only the job's code has."""
    return Condition(text, lambda facts: None)


def all_of(text: str, *conditions: Condition) -> Condition:
    return _combined(text, conditions, decided_by=False)


def any_of(text: str, *conditions: Condition) -> Condition:
    return _combined(text, conditions, decided_by=True)


def _combined(text: str, conditions: Sequence[Condition], *, decided_by: bool) -> Condition:
    """``decided_by``: the answer that decides alone."""

    def holds(facts: JobFacts) -> bool | None:
        answers = {condition.holds(facts) for condition in conditions}
        if decided_by in answers:
            return decided_by
        return None if None in answers else not decided_by

    return Condition(text, holds)


def is_true(value: str) -> bool:
    return value == "true"


def _backend(text: str, word: str) -> Condition:
    """Flink reports Unknown until a job has run."""

    def holds(facts: JobFacts) -> bool | None:
        name = str((facts.checkpointing or {}).get("state_backend") or "Unknown").lower()
        return None if name == "unknown" else word in name

    return Condition(text, holds)


ROCKSDB = _backend(message("RocksDB"), "rocksdb")
FORST = _backend(message("ForSt"), "forst")
INCREMENTAL_ROCKSDB = all_of(
    message("incremental checkpoints of RocksDB"),
    ROCKSDB,
    setting(
        message("incremental checkpoints"),
        ("execution.checkpointing.incremental", "state.backend.incremental"),
        is_true,
    ),
)
UNALIGNED = checkpointing(message("unaligned checkpoints"), "unaligned", bool)
SINK_WITH_COMMITTER = has_vertex(message("a sink with a committer"), "Committer")


def _high_availability(text: str, accepts: Callable[[str], bool]) -> Condition:
    keys = ("high-availability.type", "high-availability")
    return setting(text, keys, accepts, "none")


HIGH_AVAILABILITY = _high_availability(
    message("high availability"), lambda value: value not in ("", "none")
)
ZOOKEEPER = _high_availability(
    message("high availability by ZooKeeper"), lambda value: value == "zookeeper"
)
KUBERNETES = _high_availability(
    message("high availability by Kubernetes"),
    lambda value: value == "kubernetes" or "kuberneteshaservicesfactory" in value,
)
ADAPTIVE = any_of(
    message("the adaptive scheduler"),
    setting("", ("jobmanager.scheduler",), lambda value: value == "adaptive", ""),
    setting("", ("scheduler-mode",), lambda value: value == "reactive", ""),
)
WATERMARK_ALIGNMENT = unreported(message("watermark alignment, which jobs set in their code"))
COMPRESSED = setting(
    message("compressed snapshots"), ("execution.checkpointing.snapshot-compression",), is_true
)
LOCAL_RECOVERY = setting(
    message("local recovery"),
    ("execution.state-recovery.from-local", "state.backend.local-recovery"),
    is_true,
    "false",
)
