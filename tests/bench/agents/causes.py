"""The causes that an agent can name, as it is told them, and what a next step must mention."""

from typing import NamedTuple


class Cause(NamedTuple):
    """``next_step``: a regular expression; one of its alternatives is in advice that would end the
    trouble, whatever the case of its letters.
    """

    about: str
    next_step: str


NOTHING = "nothing"
CAUSES = {
    NOTHING: Cause("Nothing is wrong.", ""),
    "slow_operator": Cause(
        "An operator takes longer for its records than they arrive.",
        "parallelism|profil|thread dump|flame|user code|time-out",
    ),
    "garbage_collection": Cause(
        "An operator is slow because its JVM collects garbage.", "heap|memory|garbage|collect"
    ),
    "slow_host": Cause("An operator is slower on one host than on the others.", "host"),
    "uneven_records": Cause(
        "One subtask gets far more records than the others.", "key|partition|distribut|burst"
    ),
    "uneven_state": Cause("One subtask has far more state than the others.", "key"),
    "slow_network": Cause(
        "Records wait to be sent to another TaskManager.", "network|bandwidth|channel"
    ),
    "blocked_source": Cause(
        "The thread of a source is blocked, so checkpoints start late.", "block|thread"
    ),
    "slow_synchronous_part": Cause(
        "The synchronous part of checkpoints takes long.", "disk|snapshotState|synchronous"
    ),
    "slow_asynchronous_part": Cause(
        "The asynchronous part of checkpoints, which writes to storage, takes long.",
        "storage|upload|store",
    ),
    "failing_snapshot": Cause(
        "A task throws as it takes its snapshot, and declines the checkpoint.", "exception|storage"
    ),
    "storage_gone": Cause(
        "The directory of checkpoints cannot be written.", "directory|storage|permission|path"
    ),
    "store_throttles": Cause("The object store throttles requests.", "rate|prefix|request|quota"),
    "store_refuses": Cause("The object store denies access.", "polic|permission|credential|access"),
    "unretained_checkpoints": Cause(
        "Checkpoints are deleted when the job ends.", "retain|RETAIN|externalized"
    ),
    "idle_partition": Cause(
        "A partition of the source has no data and is not declared idle: event time stands still.",
        "idle",
    ),
    "dead_split": Cause(
        "One subtask of the source reads nothing any more, though others do.",
        "split|partition|fetcher|broker",
    ),
    "lagging_source": Cause(
        "Less is read than arrives: the lag of the source grows.", "partition|quota|parallelism"
    ),
    "unread_input": Cause(
        "The source cannot look for new input and goes on without it.", "path|folder|exception"
    ),
    "few_network_buffers": Cause(
        "TaskManagers have fewer network buffers than their tasks need.", "network"
    ),
    "short_rpc_timeout": Cause("Calls between Flink's processes time out.", "timeout|time-out|ask"),
    "lost_checkpoint_file": Cause(
        "A file or directory of the checkpoint to restore is gone.", "checkpoint|savepoint|restore"
    ),
    "lost_state": Cause(
        "The job was started without the state that it had.", "checkpoint|savepoint"
    ),
    "failing_operator": Cause(
        "An operator's own code throws, and the job restarts.", "exception|code|catch"
    ),
    "external_system": Cause(
        "A system outside of Flink resets connections, and the job restarts.",
        "connection|database|network|server|reset",
    ),
    "leak": Cause("Each restart leaves memory or classes behind.", "leak|thread|close|memory"),
    "slow_restore": Cause("A subtask takes long to restore its state.", "restor|state|disk"),
    "short_transactions": Cause(
        "Transactions of a sink time out before a checkpoint commits them.", "transaction"
    ),
    "write_stall": Cause("RocksDB slows down or stops writes.", "compact|RocksDB|level|write"),
    "lost_taskmanager": Cause("A TaskManager was lost.", "TaskManager|memory|kill|host|container"),
    "uneven_placement": Cause(
        "One TaskManager runs far more tasks than the others.", "slot|spread|parallelism|balance"
    ),
    "full_after_savepoint": Cause(
        "Checkpoints after a savepoint upload all state by a bug of Flink.", "upgrade|FLINK-23949"
    ),
    "taskmanagers_end": Cause(
        "TaskManagers end before they run a task.", "directory|log|node|schedul"
    ),
    "memory_of_containers": Cause("Containers are killed for their memory.", "memory"),
    "refused_containers": Cause("The cluster refuses containers.", "quota|resource|limit"),
    "broken_jobmanager_store": Cause(
        "Files of the high-availability storage are gone.", "high-availability|savepoint|checkpoint"
    ),
    "lost_leadership": Cause(
        "The JobManager loses the lead again and again.", "ZooKeeper|lease|session|timeout"
    ),
    "known_job": Cause(
        "A job of this id has ended before, and is not run again.", "result|job id|cluster-id"
    ),
    "failing_program": Cause("The program's main() throws.", "argument|program|main|code"),
}
