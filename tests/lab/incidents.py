"""What can be played: each incident is the job's arguments and the cluster settings that bring it
about.

A new fault of the job is in ``src/lab/``, which must compile against every release of ``releases``.
Play and record an incident once: ``python -m tests.lab.recording INCIDENT
tests/fixtures/incidents``; ``tests/played.py`` reads it. With ``counts_calls`` its storage is HDFS,
and each call to a NameNode is recorded (``tests/played_calls.py``). A test that neither kills a
process nor reads its log plays it in one JVM (``one_process``).
"""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Incident:
    """``{switch}`` in an argument is the path of the file that switches the fault on
    (:attr:`tests.lab.cluster.Lab.switch`), ``{folder}`` that of all that the cluster writes,
    ``{kafka}`` the address of its broker, which runs where an argument is called ``kafka``.

    ``network_bytes_per_s``: what one TaskManager can send to the other. ``storage_bytes_per_s``:
    how fast one file of a checkpoint can be written. ``jar_bytes_per_s``: how fast the first
    TaskManager can fetch jars. ``savepoint_after``: completed checkpoints, after which a savepoint
    is taken. ``claimed_after``: completed checkpoints, after which the job is cancelled, its newest
    checkpoint claimed by a second job, and old files deleted before that one restarts.
    ``killed_after``: completed checkpoints, after each of which a TaskManager is killed, and
    started again after ``killed_for_s``. ``storage_gone_after``: completed checkpoints, after which
    a file is where the job's checkpoint directory was. ``begun_afresh_after``: completed
    checkpoints, after which the job is cancelled and submitted again without any. ``rescaled_after``:
    completed checkpoints, after which every vertex of parallelism 4 is asked to run with 2.
    ``restored_from``: a checkpoint below the root, from which the job is started once more beside
    itself. ``reports_metrics``: each process answers
    Prometheus, see :attr:`tests.lab.configuration.Layout.metrics_ports`. ``pushes_reports``:
    each sends spans and events over OTLP to ``Layout.otlp_port``. ``prints_json``: each
    process prints its log as JSON besides, which is kept as a container runtime would.
    ``counts_calls``: its storage is HDFS as Flink sees it, and each call to the NameNode is written
    down. ``store_fault``: its storage is S3, which answers so to all writes for a minute
    (``failing_store``). ``input_gone_after``: completed checkpoints, after which the folder that the
    source watches is moved away; ``input_comes_back``: once a look into it has failed.
    ``taskmanager_heap_mb``: of each. ``debugs``: loggers that write DEBUG, too.
    """

    name: str
    shows: str
    arguments: dict[str, str] = field(default_factory=dict)
    settings: dict[str, str] = field(default_factory=dict)
    network_bytes_per_s: int | None = None
    storage_bytes_per_s: int | None = None
    jar_bytes_per_s: int | None = None
    database_resets_every_s: float | None = None
    savepoint_after: int | None = None
    claimed_after: int | None = None
    killed_after: tuple[int, ...] = ()
    killed_for_s: float = 6
    storage_gone_after: int | None = None
    begun_afresh_after: int | None = None
    rescaled_after: int | None = None
    restored_from: str | None = None
    counts_calls: bool = False
    store_fault: str | None = None
    input_gone_after: int | None = None
    input_comes_back: bool = False
    reports_metrics: bool = False
    pushes_reports: bool = False
    prints_json: bool = False
    taskmanager_heap_mb: int = 256
    debugs: tuple[str, ...] = ()

    @property
    def reporters(self) -> list[str]:
        return ["prometheus"] * self.reports_metrics + ["otel"] * self.pushes_reports

    @property
    def reads_kafka(self) -> bool:
        return "kafka" in self.arguments

    @property
    def reads_files(self) -> bool:
        return "watches" in self.arguments


_SUMMED = {
    **{
        "rate": "500",
        "limit": "30000",
        "keys": "300",
        "value-bytes": "50",
        "counts-to": "{folder}/counts",
    },
    # The memory of the lab is small: RocksDB rewrites what is counted all the time. These stay in
    # their files.
    **{"grown-keys": "2", "grown-bytes": "1000000"},
}
_ROCKSDB_METRICS = {
    f"state.backend.rocksdb.metrics.{name}": "true"
    for name in (
        "is-write-stopped",
        "actual-delayed-write-rate",
        "background-errors",
        "mem-table-flush-pending",
        "compaction-pending",
        "num-running-flushes",
        "num-running-compactions",
        "estimate-pending-compaction-bytes",
        "num-files-at-level",
        "block-cache-usage",
        "block-cache-capacity",
        "cur-size-all-mem-tables",
        "total-sst-files-size",
    )
}
_DEBLOATING = {"taskmanager.network.memory.buffer-debloat.enabled": "true"}
_GATES = "org.apache.flink.runtime.io.network.partition.consumer.SingleInputGate"
_UNION = {"rate": "300", "enrich-parallelism": "4", "fail-every-s": "12", "union-elements": "100"}
_MANY_RETAINED = {"execution.checkpointing.interval": "3s", "state.checkpoints.num-retained": "50"}
_SLOW_HOST = {
    "rate": "2000",
    "enrich-parallelism": "4",
    "slow-us": "3000",
    "slow-on": "flink-tm-1",
}
_COUNTED = {"rate": "1000", "keys": "20000", "value-bytes": "100", "partitions": "2"}
_ON_S3 = {
    "execution.checkpointing.interval": "8s",
    "state.storage.fs.memory-threshold": "0",
    "fs.allowed-fallback-filesystems": "s3a",
    **{
        f"flink.hadoop.fs.s3a.{name}": value
        for name, value in {
            "access.key": "lab",
            "secret.key": "lab",
            "path.style.access": "true",
            "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
            # Those of the newer Hadoop that is beside it have units, which it cannot read.
            "connection.timeout": "20000",
            "connection.establish.timeout": "5000",
            "threads.keepalivetime": "60",
            "multipart.purge.age": "86400",
            # Else it tries again for longer than a checkpoint may take.
            "attempts.maximum": "3",
            "retry.limit": "3",
            "retry.throttle.limit": "3",
        }.items()
    },
}

INCIDENTS = {
    incident.name: incident
    for incident in (
        Incident("healthy", "checkpoints complete in well under a second", {"rate": "500"}),
        Incident(
            "summed",
            (
                "ends after a minute of records, and writes down how often it saw each key, by its "
                "state: 100 times"
            ),
            _SUMMED,
            # All files of RocksDB but the one of its newest manifest's name.
            {"state.storage.fs.memory-threshold": "64b"},
        ),
        Incident(
            "summed-merged",
            (
                "the same with merged files and unaligned checkpoints, by settings of its own; "
                "from 1.20 on"
            ),
            {
                **_SUMMED,
                "counts-to": "{folder}/merged-counts",
                "set.execution.checkpointing.file-merging.enabled": "true",
                "set.execution.checkpointing.file-merging.across-checkpoint-boundary": "true",
                "set.execution.checkpointing.unaligned": "true",
            },
            {"state.storage.fs.memory-threshold": "64b"},
        ),
        Incident(
            "backpressure",
            (
                "enrich is slower than its input: source and parse are back-pressured, checkpoints "
                "wait for their barriers"
            ),
            {"rate": "5000", "slow-us": "3000"},
        ),
        Incident(
            "overtaking",
            (
                "enrich is slower than its input, and barriers overtake what is in flight: "
                "unaligned checkpoints persist it"
            ),
            {"rate": "5000", "slow-us": "3000", "value-bytes": "500"},
            {"execution.checkpointing.unaligned": "true", "execution.checkpointing.interval": "5s"},
        ),
        Incident(
            "scraped",
            (
                "enrich is slower than its input, whose source reports its lag, and every process "
                "has Flink's Prometheus reporter"
            ),
            {"arrives": "0:5000", "reads": "0:1000000", "slow-us": "3000"},
            reports_metrics=True,
        ),
        Incident(
            "growing-lag",
            (
                "a source reads less than arrives for seven minutes, as much for three, and then "
                "catches up"
            ),
            {
                "partitions": "2",
                "arrives": "0:200",
                "reads": "0:400,60:80,480:200,660:800",
                "log-counts": "{folder}/log",
            },
        ),
        Incident(
            "kafka-lag",
            (
                "Flink's Kafka source, from 2.0 on, reads less than arrives for three minutes, as "
                "much for two, and then catches up"
            ),
            {
                "kafka": "{kafka}",
                "partitions": "2",
                "arrives": "0:100",
                "reads": "0:200,60:40,240:100,360:500",
                "log-counts": "{folder}/log",
            },
        ),
        Incident(
            "kafka-aligned",
            (
                "Flink's Kafka source, from 2.0 on, holds back the last of three partitions, whose "
                "event time goes half as fast again as that of the others"
            ),
            {
                "kafka": "{kafka}",
                "partitions": "3",
                "readers": "1",
                "arrives": "0:100",
                "reads": "0:1000",
                "ahead": "1.5",
                "aligned-ms": "5000",
                "log-counts": "{folder}/aligned",
            },
        ),
        Incident(
            "dead-split",
            "the last of three splits is read no more after two minutes",
            {
                "partitions": "3",
                "arrives": "0:50",
                "reads": "0:400",
                "dead-after-s": "120",
                "log-counts": "{folder}/dead",
            },
        ),
        Incident(
            "quiet",
            "after two minutes nothing arrives at any split",
            {
                "partitions": "2",
                "arrives": "0:50,120:0",
                "reads": "0:400",
                "log-counts": "{folder}/quiet",
            },
        ),
        Incident(
            "switched",
            "enrich is slow while the cluster's file “fault-is-on” exists",
            {"rate": "3000", "slow-us": "3000", "slow-while": "{switch}"},
        ),
        Incident(
            "amplified",
            (
                "enrich emits 200 records for each it reads and the sink cannot keep up: the sink "
                "is the origin, not what feeds it"
            ),
            {"rate": "200", "copies": "200", "sink-us": "100", "value-bytes": "400"},
        ),
        Incident(
            "declined",
            "the asynchronous part of every third checkpoint fails on the first enrich subtask",
            {"rate": "500", "decline-every": "3"},
        ),
        Incident(
            "expired",
            (
                "enrich is slow in turns and the time-out shorter than the alignment: checkpoints "
                "expire, acknowledgements come late"
            ),
            {"rate": "5000", "slow-us": "5000", "slow-on-s": "20", "slow-off-s": "10"},
            {"execution.checkpointing.timeout": "3s"},
        ),
        Incident(
            "lingering",
            (
                "enrich acknowledges a second and a half after its files are uploaded; a "
                "TaskManager killed in between leaves them"
            ),
            {"rate": "1000", "keys": "3000", "async-ms": "1500"},
            # However small, state is in files of its own. Now and then Flink fails on a restored
            # job's acknowledgement ("Attempt to reference unknown state"): such a checkpoint would
            # be waited for ten minutes, and none would follow it.
            {"state.storage.fs.memory-threshold": "0", "execution.checkpointing.timeout": "20s"},
        ),
        Incident(
            "slow-network",
            (
                "enrich emits 30 large records for each it reads, over a network of 400 kB/s: it "
                "waits, and the sink has nothing to do"
            ),
            {"rate": "100", "copies": "30", "value-bytes": "2000"},
            network_bytes_per_s=400_000,
        ),
        Incident(
            "balanced",
            (
                "vertices of 2, 4, 7 and 1 subtasks, spread by Flink's own balanced scheduling "
                "(2.2 and later)"
            ),
            {"rate": "500", "partitions": "2", "parse-parallelism": "4", "enrich-parallelism": "7"},
            {"taskmanager.load-balance.mode": "TASKS"},
        ),
        Incident(
            "unspread",
            (
                "vertices of 3, 3, 5 and 1 subtasks, and nothing set that would spread them: which "
                "slots of a TaskManager share is chance"
            ),
            {"rate": "500", "partitions": "3", "parse-parallelism": "3", "enrich-parallelism": "5"},
        ),
        Incident(
            "few-buffers",
            (
                "TaskManagers have fewer network buffers than the tasks on them need: the job "
                "fails at each start"
            ),
            {"rate": "500", "enrich-parallelism": "6"},
            {"taskmanager.memory.network.min": "1mb", "taskmanager.memory.network.max": "1mb"},
        ),
        Incident(
            "idle-partition",
            (
                "one of two partitions has no more data after 45 s and is not declared idle: event "
                "time stands still behind the source"
            ),
            {"rate": "200", "partitions": "2", "silent-after-s": "45"},
        ),
        Incident(
            "burst",
            (
                "one of two partitions brings 60,000 records at once after 90 s; before and ever "
                "after, both bring 200 a second"
            ),
            {"rate": "200", "partitions": "2", "burst-records": "60000", "burst-after-s": "90"},
        ),
        Incident(
            "declared-idle",
            (
                "one of two partitions has no more data after 45 s and is declared idle: event "
                "time goes on"
            ),
            {"rate": "200", "partitions": "2", "silent-after-s": "45", "idle-after-s": "5"},
        ),
        Incident(
            "hot-state",
            "one of 40 keys grows to 120 MB of state, records are spread evenly",
            {"rate": "400", "keys": "40", "grown-keys": "1", "grown-bytes": "120000000"},
            {"execution.checkpointing.interval": "5s"},
        ),
        Incident(
            "large-state",
            "all 40 keys grow to 5 MB of state each: much state, evenly spread",
            {"rate": "400", "keys": "40", "grown-keys": "40", "grown-bytes": "5000000"},
            {"execution.checkpointing.interval": "5s"},
        ),
        Incident(
            "slow-sync",
            (
                "the synchronous part of each checkpoint takes 4 s on the first enrich subtask, as "
                "with a slow local disk"
            ),
            {"rate": "300", "sync-ms": "4000"},
            {"execution.checkpointing.interval": "8s"},
        ),
        Incident(
            "slow-host",
            (
                "enrich takes 3 ms for a record on the host of the first TaskManager, and next to "
                "none on the other; keys are spread evenly"
            ),
            _SLOW_HOST,
        ),
        Incident(
            "slow-host-unaligned",
            "the same with unaligned checkpoints: the fast host has time to spare",
            _SLOW_HOST | {"set.execution.checkpointing.unaligned": "true"},
        ),
        Incident(
            "late-sync",
            (
                "the synchronous part of each checkpoint takes 14 s on the first enrich subtask, "
                "4 s more than the time-out"
            ),
            {
                "rate": "300",
                "sync-ms": "14000",
                "set.execution.checkpointing.interval": "20s",
                "set.execution.checkpointing.timeout": "10s",
            },
        ),
        Incident(
            "late-async",
            "the asynchronous part of each checkpoint takes 3.5 s, half a second over the time-out",
            {
                "rate": "300",
                "async-ms": "3500",
                "set.execution.checkpointing.interval": "10s",
                "set.execution.checkpointing.timeout": "3s",
            },
        ),
        Incident(
            "stacked",
            (
                "eight sources and, one behind the other, fourteen vertices of one subtask each, "
                "which all share the slot of one source"
            ),
            {"rate": "50", "partitions": "8", "steps": "14", "step-parallelism": "1"},
            {"execution.checkpointing.interval": "10s"},
        ),
        Incident(
            "resetting-database",
            (
                "enrich asks a database for each record, on both TaskManagers, and passes on that "
                "it resets all connections every 20 s"
            ),
            {"rate": "300", "enrich-parallelism": "4", "database": "{database}"},
            {"execution.checkpointing.interval": "5s"},
            database_resets_every_s=20,
        ),
        Incident(
            "slow-storage",
            (
                "the checkpoint storage takes 20 kB/s for a file: the asynchronous part of a "
                "checkpoint takes half a minute and more"
            ),
            {"rate": "200", "keys": "15", "grown-keys": "15", "grown-bytes": "200000"},
            {"execution.checkpointing.interval": "5s", "state.backend.incremental": "false"},
            storage_bytes_per_s=20_000,
        ),
        Incident(
            "slow-savepoint",
            (
                "increments are small; a savepoint holds all state, takes more than a minute, and "
                "the time-out of 4 min is sized for it"
            ),
            {"rate": "800", "keys": "48000", "value-bytes": "500"},
            {
                "execution.checkpointing.timeout": "4min",
                "state.backend.rocksdb.compaction.level.target-file-size-base": "256kb",
            },
            storage_bytes_per_s=150_000,
            savepoint_after=32,
        ),
        Incident(
            "small-files",
            (
                "enrich has 12 states, each of which goes to a file of its own, and 50 checkpoints "
                "are retained: over a thousand files"
            ),
            {"rate": "100", "keys": "200", "states": "12"},
            {"state.storage.fs.memory-threshold": "0", "state.checkpoints.num-retained": "50"},
        ),
        Incident(
            "busy-source",
            (
                "the source's thread is blocked for nine seconds by each record: it takes the "
                "trigger of a checkpoint late from its mailbox"
            ),
            {"rate": "1000", "source-ms": "9000"},
            {"rest.flamegraph.enabled": "true"},
        ),
        Incident(
            "lost-file",
            (
                "a rule by age deletes files of an ended job that its successor's checkpoints "
                "need; a lost TaskManager makes that one restart"
            ),
            {"rate": "300", "keys": "300"},
            # RocksDB merges four small files into one: the second job still refers to the two of
            # the first one.
            {"execution.checkpointing.interval": "5s", "state.storage.fs.memory-threshold": "0"},
            claimed_after=2,
        ),
        Incident(
            "counted-rocksdb",
            "calls to the NameNode of incremental checkpoints, small states kept in the _metadata",
            _COUNTED,
            {"state.checkpoints.num-retained": "6"},
            counts_calls=True,
        ),
        Incident(
            "counted-small",
            (
                "calls to the NameNode of incremental checkpoints, each of four states in files of "
                "its own"
            ),
            _COUNTED | {"rate": "100", "keys": "2000", "states": "4"},
            {"state.checkpoints.num-retained": "6", "state.storage.fs.memory-threshold": "0"},
            counts_calls=True,
        ),
        Incident(
            "counted-hashmap",
            "calls to the NameNode of full checkpoints of state on the heap",
            _COUNTED,
            {"state.checkpoints.num-retained": "6", "state.backend": "hashmap"},
            counts_calls=True,
        ),
        Incident(
            "counted-unaligned",
            "calls to the NameNode of unaligned checkpoints under back-pressure",
            _COUNTED | {"rate": "5000", "slow-us": "1000"},
            {"state.checkpoints.num-retained": "6", "execution.checkpointing.unaligned": "true"},
            counts_calls=True,
        ),
        Incident(
            "counted-merged",
            "calls to the NameNode where checkpoint files are merged (1.20 and later)",
            _COUNTED | {"rate": "100", "keys": "2000", "states": "4"},
            {
                "state.checkpoints.num-retained": "6",
                "state.storage.fs.memory-threshold": "0",
                "execution.checkpointing.file-merging.enabled": "true",
            },
            counts_calls=True,
        ),
        Incident(
            "slow-restore",
            (
                "enrich fails every 40 s, and its first subtask takes 15 s to restore: all others "
                "wait for it"
            ),
            {"rate": "500", "enrich-parallelism": "4", "fail-every-s": "40", "restore-ms": "15000"},
            {"execution.checkpointing.interval": "5s"},
        ),
        Incident(
            "rescaled",
            "the adaptive scheduler takes enrich from 4 subtasks to 2, as it is asked to",
            {"rate": "500", "enrich-parallelism": "4"},
            {"execution.checkpointing.interval": "5s", "jobmanager.scheduler": "adaptive"},
            rescaled_after=3,
        ),
        Incident(
            "short-ask",
            "RPCs may take 40 ms, which deployments exceed; checkpoints are deleted on cancel",
            {"rate": "300", "partitions": "4", "parse-parallelism": "8", "enrich-parallelism": "8"},
            {
                "pekko.ask.timeout": "40 ms",
                "taskmanager.network.request-backoff.initial": "10",
                "taskmanager.network.request-backoff.max": "20",
                "execution.checkpointing.externalized-checkpoint-retention": "DELETE_ON_CANCELLATION",
            },
        ),
        Incident(
            "lost-checkpoint",
            (
                "a job is started from a checkpoint whose directory is not there any more, beside "
                "one that is healthy"
            ),
            {"rate": "300"},
            restored_from="37c37bd26da17b2e6ac433866d51201d/chk-7",
        ),
        Incident(
            "counted-pooled",
            (
                "calls to the NameNode where checkpoint files are merged, and whoever finds the "
                "open one in use waits for it"
            ),
            _COUNTED | {"rate": "100", "keys": "2000", "states": "4"},
            {
                "state.checkpoints.num-retained": "6",
                "state.storage.fs.memory-threshold": "0",
                "execution.checkpointing.file-merging.enabled": "true",
                "execution.checkpointing.file-merging.pool-blocking": "true",
            },
            counts_calls=True,
        ),
        Incident(
            "transactions",
            "a sink commits with checkpoints every 5 s; its transactions may be open for 15 min",
            {"rate": "200", "transaction-ms": "900000"},
            {"execution.checkpointing.interval": "5s"},
        ),
        Incident(
            "short-transactions",
            (
                "a sink commits with checkpoints, which take 6 s every 8 s; its transactions are "
                "aborted after 12 s: what they held is lost"
            ),
            {"rate": "200", "transaction-ms": "12000", "async-ms": "6000"},
            {"execution.checkpointing.interval": "8s"},
        ),
        Incident(
            "leaking",
            (
                "enrich fails every 20 s, and each time a thread that nobody stops keeps 4 MB of "
                "direct memory and 800 classes"
            ),
            {
                "rate": "300",
                "fail-every-s": "20",
                "leaked-bytes": "4000000",
                "leaked-classes": "800",
            },
        ),
        Incident(
            "full-heap",
            (
                "enrich holds 140 MB of a heap of 256 MB and makes garbage that lives for a while: "
                "the JVM collects most of the time"
            ),
            {"rate": "4000", "hoarded-bytes": "140000000", "garbage-bytes": "60000"},
        ),
        Incident(
            "collecting",
            (
                "the same with more records than the collections leave time for: enrich "
                "back-pressures parse and the source by its garbage"
            ),
            {
                "rate": "30000",
                "value-bytes": "2000",
                "hoarded-bytes": "150000000",
                "garbage-bytes": "60000",
            },
        ),
        Incident(
            "computing",
            (
                "enrich computes 2 ms for each record: its threads have all the CPU they can use, "
                "and no garbage to speak of"
            ),
            {"rate": "2000", "burn-us": "2000"},
            {"rest.flamegraph.enabled": "true"},
        ),
        Incident(
            "write-stall",
            "RocksDB of enrich compacts nothing while small write buffers fill: it slows writes "
            "down, then it stops them; beside that the "
            "second of two matched inputs lies two minutes behind the first",
            {"rate": "2000", "keys": "20000", "value-bytes": "500", "second-lag-s": "120"},
            {
                **_ROCKSDB_METRICS,
                **_DEBLOATING,
                "state.backend.rocksdb.compaction.style": "NONE",
                "state.backend.rocksdb.writebuffer.size": "256kb",
                # Each leaves one more file in level 0, however slow the machine: 20 are what
                # RocksDB slows down at.
                "execution.checkpointing.interval": "2s",
            },
        ),
        Incident(
            "rocksdb-metrics",
            (
                "RocksDB of enrich says how it is, and is well; two inputs are matched, the second "
                "one a second behind the first"
            ),
            {"rate": "500", "keys": "20000", "value-bytes": "500", "second-lag-s": "1"},
            {**_ROCKSDB_METRICS, **_DEBLOATING, "execution.checkpointing.interval": "10s"},
        ),
        Incident(
            "growing-union",
            (
                "enrich fails every 12 s; each subtask keeps all elements of a union list that a "
                "restore hands it: four times as many"
            ),
            _UNION | {"union-keeps": "all"},
            _MANY_RETAINED,
        ),
        Incident(
            "killed",
            (
                "a TaskManager is killed, and the job waits for the next one: the other has too "
                "few slots; beside that enrich fails every 45 s"
            ),
            _UNION | {"enrich-parallelism": "6", "fail-every-s": "45", "union-keeps": "own"},
            {"execution.checkpointing.interval": "5s"},
            savepoint_after=2,
            killed_after=(4,),
        ),
        Incident(
            "lost-taskmanager",
            (
                "a TaskManager is killed, and the next one comes after 40 s: the other has too few "
                "slots for the job"
            ),
            {"rate": "300", "enrich-parallelism": "8"},
            {"execution.checkpointing.interval": "5s"},
            killed_after=(4,),
            killed_for_s=40,
        ),
        Incident(
            "storage-gone",
            "the checkpoint directory of the job turns into a file: no checkpoint can be begun",
            {"rate": "100"},
            {"execution.checkpointing.interval": "4s"},
            storage_gone_after=3,
        ),
        Incident(
            "begun-afresh",
            "a job is cancelled, which keeps its checkpoints, and submitted again without any",
            {"rate": "100"},
            {"execution.checkpointing.interval": "4s"},
            begun_afresh_after=4,
        ),
        Incident(
            "hurried",
            "checkpoints take 4 s of an interval of 5 s, since one subtask is slow to snapshot",
            {"rate": "300", "sync-ms": "4000", "set.execution.checkpointing.interval": "5s"},
        ),
        Incident(
            "unretained",
            "checkpoints are not kept when the job ends",
            {
                "rate": "100",
                "set.execution.checkpointing.externalized-checkpoint-retention": (
                    "NO_EXTERNALIZED_CHECKPOINTS"
                ),
            },
        ),
        Incident(
            "steady-union",
            "enrich fails every 12 s; each subtask keeps only its own elements of a union list",
            _UNION | {"union-keeps": "own"},
            _MANY_RETAINED,
        ),
        Incident(
            "many-tasks",
            (
                "five vertices of 300 subtasks each, 150 slots on a TaskManager; of each step "
                "three or four subtasks take seconds to open"
            ),
            {
                "rate": "1",
                "partitions": "300",
                "steps": "4",
                "step-parallelism": "300",
                "step-ms": "12000",
            },
            {
                "taskmanager.numberOfTaskSlots": "150",
                "taskmanager.memory.segment-size": "4kb",
                "execution.checkpointing.interval": "1h",
                # So many tasks are much for a machine of two cores.
                "pekko.ask.timeout": "3min",
                "heartbeat.timeout": "180000",
            },
            taskmanager_heap_mb=768,
            debugs=(_GATES,),
        ),
        Incident(
            "slow-jar",
            (
                "one TaskManager fetches the jar for seconds; tasks on the other ask the "
                "JobManager for its partitions again and again"
            ),
            {"rate": "300", "partitions": "8", "parse-parallelism": "8", "enrich-parallelism": "8"},
            {
                "taskmanager.network.request-backoff.initial": "10",
                # Else requests wait at the producer, from 1.20 on.
                "taskmanager.network.partition-request-timeout": "20ms",
                "execution.checkpointing.interval": "10s",
            },
            jar_bytes_per_s=4_000,
            debugs=(_GATES,),
        ),
        Incident(
            "expiring",
            "a value, a map and a list of enrich live for 20 s; a second list is kept forever",
            {"rate": "100", "keys": "100", "states": "2", "ttl-s": "20"},
            {"execution.checkpointing.interval": "10s"},
        ),
        Incident(
            "described-apart",
            (
                "the same, and no state is kept in the _metadata: what describes the states of "
                "enrich is a file of its own"
            ),
            {"rate": "100", "keys": "100", "states": "2", "ttl-s": "20"},
            {"execution.checkpointing.interval": "10s", "state.storage.fs.memory-threshold": "0"},
        ),
        Incident(
            "gone-input",
            "the folder in which the source looks for new files each 10 s is moved away",
            {"watches": "{folder}/input"},
            {"execution.checkpointing.interval": "5s"},
            input_gone_after=12,
        ),
        Incident(
            "input-gone-once",
            "the same, and it comes back before the source looks once more",
            {"watches": "{folder}/input"},
            {"execution.checkpointing.interval": "5s"},
            input_gone_after=4,
            input_comes_back=True,
        ),
        Incident(
            "throttled-store",
            "after a minute and a half S3 answers SlowDown to all writes for a minute",
            {"rate": "300"},
            _ON_S3,
            store_fault="SlowDown",
        ),
        Incident(
            "refused-store",
            "after a minute and a half S3 refuses all writes for a minute, as a policy would",
            {"rate": "300"},
            _ON_S3,
            store_fault="AccessDenied",
        ),
        Incident(
            "reported",
            (
                "every third checkpoint fails and enrich throws every 25 s; after a savepoint the job "
                "is cancelled and begun afresh; Flink pushes spans and events of all that"
            ),
            {"rate": "500", "decline-every": "3", "fail-every-s": "25"},
            savepoint_after=12,
            begun_afresh_after=18,
            pushes_reports=True,
        ),
        Incident(
            "crashing",
            "enrich throws every 20 s and the job restarts",
            {"rate": "500", "fail-every-s": "20"},
        ),
    )
}
