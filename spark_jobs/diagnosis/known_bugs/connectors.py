import re

from ingest.messages import message
from spark_jobs.diagnosis.known_bugs.bug import KnownBug
from spark_jobs.diagnosis.known_bugs.conditions import (
    UNALIGNED,
    Condition,
    JobFacts,
    has_vertex,
    is_true,
    setting,
)
from spark_jobs.diagnosis.known_bugs.releases import Releases
from spark_jobs.diagnosis.known_bugs.sources import commit, notes, pull


def _has_one_phase_aggregation(facts: JobFacts) -> bool | None:
    """In two phases, the operators are LocalGroupAggregate and GlobalGroupAggregate."""
    if facts.vertices is None:
        return None
    two_phases = ("LocalGroupAggregate", "GlobalGroupAggregate", "IncrementalGroupAggregate")
    return any(
        name.count("GroupAggregate") > sum(name.count(other) for other in two_phases)
        for name in facts.vertices
    )


def _reads_kafka(facts: JobFacts) -> bool | None:
    """True or None: users choose the names of sources, so another name proves nothing."""
    return True if any(_KAFKA_SOURCE.search(name) for name in facts.vertices or ()) else None


_KAFKA_SOURCE = re.compile(r"source:[^>]*kafka", re.IGNORECASE)

BUGS = (
    KnownBug(
        "FLINK-28060",
        message(
            "After a Kafka broker was restarted, commits of offsets on checkpoints keep failing: "
            "consumer lag looks as if nothing was read."
        ),
        Releases(("1.15.0",), ("1.15.1",)),
        notes("1.15.1") + commit("189f88485d7"),
        (Condition(message("a Kafka source"), _reads_kafka),),
        message("Nothing is lost: the job restores offsets from its own checkpoints."),
    ),
    KnownBug(
        "FLINK-35661",
        message(
            "A mini-batch with a key of which only retractions came drops the records of all keys "
            "after it: results are wrong."
        ),
        Releases(("1.12.0",), ("2.1.3", "2.3.0")),
        pull(27505, 27572, 27573, 27574, 28262) + commit("b81b124ce8b"),
        (
            Condition(message("a group aggregation in one phase"), _has_one_phase_aggregation),
            setting(message("mini-batches"), ("table.exec.mini-batch.enabled",), is_true),
        ),
        message("Until then switch off table.exec.mini-batch.enabled."),
    ),
    KnownBug(
        "apache/iceberg#15846",
        message(
            "With unaligned checkpoints records are missing in the Iceberg table after a "
            "checkpoint failed and the job recovered."
        ),
        Releases(("1.20.0",)),
        (
            "https://github.com/apache/iceberg/issues/15846",
            "https://github.com/apache/iceberg/pull/15913",
        ),
        (UNALIGNED, has_vertex(message("the Iceberg sink FlinkSink"), "IcebergFilesCommitter")),
        message("Use aligned checkpoints for this job."),
    ),
)
