from ingest.messages import message
from spark_jobs.diagnosis.known_bugs.bug import KnownBug, Symptom
from spark_jobs.diagnosis.known_bugs.conditions import (
    FORST,
    INCREMENTAL_ROCKSDB,
    UNALIGNED,
    checkpointing,
    is_true,
    setting,
)
from spark_jobs.diagnosis.known_bugs.releases import Releases
from spark_jobs.diagnosis.known_bugs.sources import commit, notes, pull

_LOST_FILE = Symptom(("restore.missing_file", "storage.missing_reference"))
_LEFT_FILES = Symptom(("storage.orphans",))
_DELETE_UNREFERENCED = message(
    "Until then delete what an audit of the storage proves to be unreferenced."
)

BUGS = (
    KnownBug(
        "FLINK-23949",
        message(
            "After a savepoint RocksDB has forgotten which files it had uploaded, so the next "
            "incremental checkpoint uploads the whole state again."
        ),
        Releases(("1.11.0",), ("1.13.3", "1.14.0")),
        pull(16969) + commit("d2007b74d54"),
        (INCREMENTAL_ROCKSDB,),
        message(
            "Until then take fewer savepoints, and leave room in the time-out for a full upload."
        ),
        Symptom(("checkpoint.full_after_savepoint",), proves="alone"),
    ),
    KnownBug(
        "FLINK-30461",
        message(
            "Files that an incremental checkpoint had already uploaded when it failed are never "
            "deleted."
        ),
        Releases(("1.12.0",), ("1.15.4", "1.16.2", "1.17.0")),
        notes("1.15.4", "1.16.2") + commit("7326addbb3f"),
        (INCREMENTAL_ROCKSDB,),
        _DELETE_UNREFERENCED,
        _LEFT_FILES,
    ),
    KnownBug(
        "FLINK-29913",
        message(
            "With more than one checkpoint at a time a file of the shared state that checkpoints "
            "still need is deleted by mistake."
        ),
        Releases(("1.15.0",), ("1.16.3", "1.17.2", "1.18.0")),
        notes("1.16.3", "1.17.2") + commit("6dcb10abf31"),
        (
            INCREMENTAL_ROCKSDB,
            checkpointing(
                message("more than one concurrent checkpoint"),
                "max_concurrent",
                lambda value: int(value) > 1,
            ),
        ),
        message("Until then allow one concurrent checkpoint only."),
        _LOST_FILE,
    ),
    KnownBug(
        "FLINK-21351",
        message(
            "A savepoint that completes removes the last checkpoint, although the next incremental "
            "checkpoint refers to its files."
        ),
        Releases(("1.12.0",), ("1.12.2", "1.13.0")),
        notes("1.12.2") + pull(14987),
        (
            INCREMENTAL_ROCKSDB,
            setting(
                message("one retained checkpoint"),
                ("execution.checkpointing.num-retained", "state.checkpoints.num-retained"),
                lambda value: value == "1",
                "1",
            ),
        ),
        message("Until then retain two checkpoints."),
        _LOST_FILE,
    ),
    KnownBug(
        "FLINK-38347",
        message(
            "Where a notice of a checkpoint to a TaskManager is lost, directories of merged files "
            "are not deleted."
        ),
        Releases(("1.20.0",), ("1.20.3", "2.0.1", "2.1.1", "2.2.0"), is_introduced=True),
        pull(26977, 26978, 26979, 26980),
        (
            setting(
                message("merged checkpoint files"),
                ("execution.checkpointing.file-merging.enabled",),
                is_true,
            ),
        ),
        _DELETE_UNREFERENCED,
        _LEFT_FILES,
    ),
    KnownBug(
        "FLINK-38433",
        message(
            "A task that restores with ForSt deletes a working directory that is there already, "
            "with the files in it."
        ),
        Releases(("2.0.0",), ("2.0.1", "2.1.1", "2.2.0"), is_introduced=True),
        pull(27063, 27064) + commit("a644a8243a5"),
        (FORST,),
        symptom=_LOST_FILE,
    ),
    KnownBug(
        "FLINK-20654",
        message("Records can be damaged when a job restores from an unaligned checkpoint."),
        Releases(("1.12.0",), ("1.12.3", "1.13.0")),
        notes("1.12.2", "1.12.3") + pull(14797),
        (UNALIGNED,),
        message("Until then use aligned checkpoints."),
    ),
    KnownBug(
        "FLINK-20675",
        message(
            "A failure in the asynchronous part of a checkpoint no longer counts against the "
            "tolerable failures, so the job keeps running without checkpoints and does not fail."
        ),
        Releases(("1.12.0",), ("1.12.2", "1.13.0")),
        notes("1.12.2") + commit("c7ed2e818a4"),
        (
            checkpointing(
                message("no tolerable failed checkpoint"),
                "tolerable_failed",
                lambda value: int(value) == 0,
            ),
        ),
    ),
    KnownBug(
        "FLINK-35217",
        message(
            "A checkpoint is reported complete before its files are safe on the disk. A machine "
            "that loses power then can leave incomplete files."
        ),
        Releases(("1.19.0",), ("1.19.1", "1.20.0")),
        notes("1.19.1") + commit("80af4d50231"),
        (
            setting(
                message("checkpoints on a local or mounted file system"),
                ("execution.checkpointing.dir", "state.checkpoints.dir"),
                lambda value: value.startswith("file:"),
            ),
        ),
        message("Until then retain several checkpoints."),
    ),
)
