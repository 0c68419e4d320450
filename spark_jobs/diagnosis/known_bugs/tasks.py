from ingest.messages import message
from spark_jobs.diagnosis.known_bugs.bug import KnownBug, Symptom
from spark_jobs.diagnosis.known_bugs.conditions import (
    ROCKSDB,
    UNALIGNED,
    WATERMARK_ALIGNMENT,
    any_of,
    is_true,
    setting,
    unreported,
)
from spark_jobs.diagnosis.known_bugs.releases import Releases
from spark_jobs.diagnosis.known_bugs.sources import commit, notes, pull

_STALLED = Symptom(("watermark.stalled",))
_MEMORY = Symptom(("memory.step_after_restart",))
_NO_ALIGNMENT = message("Until then do without watermark alignment.")
TICKERS = (
    "block-cache-hit",
    "block-cache-miss",
    "bloom-filter-useful",
    "bloom-filter-full-positive",
    "bloom-filter-full-true-positive",
    "bytes-read",
    "iter-bytes-read",
    "bytes-written",
    "compaction-read-bytes",
    "compaction-write-bytes",
    "stall-micros",
)

BUGS = (
    KnownBug(
        "FLINK-32414",
        message("With watermark alignment the job stops for ever where a source has no split."),
        Releases(("1.15.0",), ("1.16.3", "1.17.2", "1.18.0"), is_introduced=True),
        notes("1.16.3", "1.17.2") + pull(22847) + commit("40dc2b48f0e"),
        (WATERMARK_ALIGNMENT,),
        _NO_ALIGNMENT,
        _STALLED,
    ),
    KnownBug(
        "FLINK-32496",
        message("With watermark alignment sources wait for ever for one that is idle."),
        Releases(("1.16.0",), ("1.16.3", "1.17.2", "1.18.0")),
        notes("1.16.3", "1.17.2") + pull(22968, 22969),
        (WATERMARK_ALIGNMENT,),
        _NO_ALIGNMENT,
        _STALLED,
    ),
    KnownBug(
        "FLINK-35157",
        message("With watermark alignment sources wait for ever for subtasks that have finished."),
        Releases(("1.18.0",), ("1.19.2", "1.20.0")),
        pull(24757, 24942, 24943, 24944),
        (WATERMARK_ALIGNMENT,),
        _NO_ALIGNMENT,
        _STALLED,
    ),
    KnownBug(
        "FLINK-37670",
        message(
            "With watermark alignment the job stops for ever where a source has no more splits to "
            "assign."
        ),
        Releases(("1.19.2", "1.20.0"), ("1.20.2", "2.0.1", "2.1.0"), is_introduced=True),
        pull(26453, 26467, 26468),
        (WATERMARK_ALIGNMENT,),
        _NO_ALIGNMENT,
        _STALLED,
    ),
    KnownBug(
        "FLINK-28975",
        message(
            "A source counts as idle although splits of it have records, so watermarks pass these "
            "and they come late."
        ),
        Releases(("1.15.0",), ("1.15.3", "1.16.0")),
        notes("1.15.3") + commit("d62df6899a1"),
        (
            any_of(
                message("an idleness time-out, which jobs also set in their code"),
                setting(
                    "",
                    ("table.exec.source.idle-timeout",),
                    lambda value: any(digit in value for digit in "123456789"),
                ),
                unreported(""),
            ),
        ),
    ),
    KnownBug(
        "FLINK-29298",
        message(
            "A task that has taken the last network buffer of its pool can wait for another one "
            "for ever."
        ),
        Releases(("1.16.0",), ("1.16.1", "1.17.0")),
        notes("1.16.1") + commit("875f27ef38a"),
    ),
    KnownBug(
        "FLINK-31293",
        message(
            "A task that asks for an overdraft network buffer although its pool is not full can "
            "wait for ever."
        ),
        Releases(("1.16.0",), ("1.16.2", "1.17.1", "1.18.0")),
        notes("1.16.2", "1.17.1") + commit("fb6caee1371"),
        (
            setting(
                message("overdraft buffers"),
                ("taskmanager.network.memory.max-overdraft-buffers-per-gate",),
                lambda value: value != "0",
                "5",
            ),
        ),
        message("Until then set taskmanager.network.memory.max-overdraft-buffers-per-gate to 0."),
    ),
    KnownBug(
        "FLINK-22946",
        message(
            "Two threads of a task can block each other for ever while they recycle network "
            "buffers."
        ),
        Releases(("1.11.0",), ("1.11.4", "1.12.5", "1.13.2", "1.14.0")),
        notes("1.12.5", "1.13.2") + commit("903de19442b"),
        (UNALIGNED,),
        message("Until then use aligned checkpoints."),
    ),
    KnownBug(
        "FLINK-28695",
        message(
            "After a TaskManager was restarted at the same address, tasks elsewhere use the old "
            "connection and cannot request its partitions."
        ),
        Releases(("1.15.0",), ("1.15.4", "1.16.1", "1.17.0")),
        notes("1.15.4", "1.16.1") + commit("e7854193816"),
        symptom=Symptom(("restart.loop",), "Sending the partition request to"),
    ),
    KnownBug(
        "FLINK-39753",
        message(
            "Each manual compaction leaks native memory of RocksDB and keeps its block cache: the "
            "memory of TaskManagers grows with each restart."
        ),
        Releases(("1.20.0",), ("1.20.5", "2.3.0"), is_introduced=True),
        pull(28251, 28271, 28280, 28281),
        (
            ROCKSDB,
            setting(
                message("manual compaction"),
                ("state.backend.rocksdb.manual-compaction.min-interval",),
                lambda value: not value.startswith("0"),
            ),
        ),
        message(
            "Until then set state.backend.rocksdb.manual-compaction.min-interval to 0, or restart "
            "TaskManagers after the job."
        ),
        _MEMORY,
    ),
    KnownBug(
        "FLINK-39923",
        message(
            "Statistics of RocksDB are not freed when a task ends: the memory of TaskManagers "
            "grows with each restart."
        ),
        Releases(("2.0.0",), ("2.4.0",), is_introduced=True),
        pull(28489),
        (
            ROCKSDB,
            any_of(
                message("metrics that need statistics of RocksDB"),
                *(
                    setting("", (f"state.backend.rocksdb.metrics.{ticker}",), is_true)
                    for ticker in TICKERS
                ),
            ),
        ),
        message("Until then switch off those metrics, or restart TaskManagers after the job."),
        _MEMORY,
    ),
)
