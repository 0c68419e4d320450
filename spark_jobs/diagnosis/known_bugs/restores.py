from ingest.messages import message
from spark_jobs.diagnosis.known_bugs.bug import KnownBug, Symptom
from spark_jobs.diagnosis.known_bugs.conditions import (
    ADAPTIVE,
    COMPRESSED,
    HIGH_AVAILABILITY,
    LOCAL_RECOVERY,
    ROCKSDB,
    SINK_WITH_COMMITTER,
    UNALIGNED,
    Condition,
    is_true,
    setting,
)
from spark_jobs.diagnosis.known_bugs.releases import Releases
from spark_jobs.diagnosis.known_bugs.sources import commit, notes, pull

_USE_SAVEPOINT = message("Until then change the parallelism by a savepoint, not by a checkpoint.")
_NO_COMPRESSION = message("Until then do not compress snapshots.")
_RESTARTS = ("restart.loop",)

BUGS = (
    KnownBug(
        "FLINK-22686",
        message(
            "A job that restores from an unaligned checkpoint with another parallelism maps "
            "records in flight to the wrong subtasks where its inputs are partitioned in different "
            "ways."
        ),
        Releases(("1.13.0",), ("1.13.2", "1.14.0")),
        notes("1.13.2") + pull(16019),
        (UNALIGNED,),
        _USE_SAVEPOINT,
    ),
    KnownBug(
        "FLINK-31963",
        message(
            "A job that restores from an unaligned checkpoint with a lower parallelism fails with "
            "an ArrayIndexOutOfBoundsException where an operator between others has no state."
        ),
        Releases(("1.16.0",), ("1.16.2", "1.17.1", "1.18.0")),
        notes("1.16.2", "1.17.1") + pull(22584, 22594, 22595),
        (UNALIGNED,),
        _USE_SAVEPOINT,
        Symptom(_RESTARTS, "ArrayIndexOutOfBoundsException"),
    ),
    KnownBug(
        "FLINK-35351",
        message(
            "A job with a custom partitioner does not restore from an unaligned checkpoint when "
            "the parallelism of a vertex before it changes."
        ),
        Releases(("1.19.0",), ("1.19.1", "1.20.0")),
        notes("1.19.1") + pull(24857),
        (
            UNALIGNED,
            Condition(
                message("a custom partitioner"),
                lambda facts: None if facts.exchanges is None else "CUSTOM" in facts.exchanges,
            ),
        ),
        _USE_SAVEPOINT,
    ),
    KnownBug(
        "FLINK-38267",
        message(
            "A job does not restore from an unaligned checkpoint with another parallelism where a "
            "task has forward or rescale connections beside hash or rebalance ones."
        ),
        Releases(("1.20.0",), ("1.20.3", "2.0.1", "2.1.1", "2.2.0")),
        pull(26931, 26937),
        (UNALIGNED,),
        _USE_SAVEPOINT,
        Symptom(_RESTARTS, "Cannot rescale the given pointwise partitioner"),
    ),
    KnownBug(
        "FLINK-38483",
        message("A job does not restore from an unaligned checkpoint."),
        Releases(("1.20.3",), ("1.20.4",), is_introduced=True),
        pull(27084, 27086) + commit("d81751aea0b", "c43ab27d401"),
        (UNALIGNED,),
        message("Until then restore from a savepoint."),
        Symptom(
            _RESTARTS,
            "Cannot get old subtasks from a descriptor that represents no state",
            proves="alone",
        ),
    ),
    KnownBug(
        "FLINK-37870",
        message(
            "Unaligned checkpoints are silently off for all connections before a sink with a "
            "committer."
        ),
        Releases(
            ("1.19.2", "1.20.1", "2.0.0"),
            ("1.19.3", "1.20.2", "2.0.1", "2.1.0"),
            is_introduced=True,
        ),
        pull(26619, 26628) + commit("9d21878befa"),
        (UNALIGNED, SINK_WITH_COMMITTER),
    ),
    KnownBug(
        "FLINK-36287",
        message(
            "What a sink still has to commit can come after the barrier of an unaligned "
            "checkpoint, so the committer commits a checkpoint before it has all of it."
        ),
        Releases(("1.19.0",), ("1.19.2", "1.20.1", "2.0.0")),
        pull(25353, 25650),
        (UNALIGNED, SINK_WITH_COMMITTER),
        message("Until then use aligned checkpoints."),
    ),
    KnownBug(
        "FLINK-33863",
        message("Compressed operator state cannot be restored."),
        Releases(("1.18.0",), ("1.18.1", "1.19.0"), is_introduced=True),
        commit("d04d727958b", "d415d93bbf9", "f9383e6780a"),
        (COMPRESSED,),
        _NO_COMPRESSION,
    ),
    KnownBug(
        "FLINK-34063",
        message(
            "Compressed operator state is restored wrongly where the parallelism changes or some "
            "of it is empty: state is lost."
        ),
        Releases(("1.18.0",), ("1.19.0",), is_introduced=True),
        notes("1.18.1") + commit("d04d727958b", "b7c314b46ac"),
        (COMPRESSED,),
        _NO_COMPRESSION,
    ),
    KnownBug(
        "FLINK-25468",
        message(
            "Local recovery fails where the local copies of the state and the working directory of "
            "RocksDB are on different volumes."
        ),
        Releases(("1.12.5", "1.13.0", "1.14.0"), ("1.13.6", "1.14.3", "1.15.0")),
        notes("1.13.6", "1.14.3") + pull(18222),
        (ROCKSDB, LOCAL_RECOVERY),
        message("Until then put both on one volume."),
    ),
    KnownBug(
        "FLINK-34518",
        message(
            "A JobManager that stops while the adaptive scheduler restarts the job deletes its "
            "data of high availability: the job begins with empty state."
        ),
        Releases(("1.17.0",), ("1.19.0",)),
        pull(24382, 24384, 24385),
        (ADAPTIVE, HIGH_AVAILABILITY),
        message("Until then use the default scheduler."),
    ),
    KnownBug(
        "FLINK-39513",
        message(
            "A JobManager that recovers a job from its data of high availability refuses state of "
            "operators that are gone, although the configuration allows to ignore it."
        ),
        Releases(("1.12.0",), ("2.4.0",)),
        pull(27991) + commit("7a0419781e7"),
        (
            HIGH_AVAILABILITY,
            setting(
                message("state that may be ignored"),
                (
                    "execution.state-recovery.ignore-unclaimed-state",
                    "execution.savepoint.ignore-unclaimed-state",
                ),
                is_true,
            ),
        ),
        message("Until then start the changed job from a savepoint."),
        Symptom(_RESTARTS, "There is no operator for the state", proves="with_conditions"),
    ),
)
