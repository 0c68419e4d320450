"""The tables of a storage audit. ``AUDIT_TABLES`` are loaded into the web's database;
``FILE_TABLES`` have a row for each file or reference and stay Parquet. Texts are codes of
``spark_jobs.storage_words``. In keys, an unknown ``cluster`` or ``job_id`` is empty. A new
column needs its line here, code in ``spark_jobs/storage/``, and the field of the same name in
``webapp/storage/models.py``. ``previous_audit.KNOWN_OF_FILE`` has what the next audit needs.
"""

from spark_jobs.serving import Column, ServingTable, columns, keyed_table
from spark_jobs.storage_words import VERDICTS


def _counts(*prefixes: str) -> tuple[Column, ...]:
    return tuple(
        Column(f"{prefix}_{unit}", "int", required=True)
        for prefix in prefixes
        for unit in ("files", "bytes")
    )


STORAGE_ROOT = keyed_table(
    "storage_root",
    "one root in one audit",
    "audit_id root",
    *columns("""
        as_of instant!: when its listing began
        files int!
        bytes int!
    """),
    *_counts(*VERDICTS, "missing"),
    *columns("""
        metadata_files int!: _metadata files listed, readable or not
        checkpoints int!: of them read: retained checkpoints and savepoints
        replaced int: of those listed: gone when they were to be read, as at short intervals;
            what they alone referred to has no reference. Null in older audits
        unlisted int!: directories that could not be listed
        doubts int!: that reach files of this root
    """),
    *columns("""
        raw_bytes int: each file as often as the listing says that it is stored; null where it
            does not say so of each
        cleanable flag!: whether a plan can be made
        not_cleanable json!: [reason codes]
    """),
)

STORAGE_VERDICT = keyed_table(
    "storage_verdict",
    "files of one root by verdict, reason and kind",
    "audit_id root verdict reason kind",
    *columns("""
        files int!: kind is empty where the verdict has none
        bytes int!
    """),
)

STORAGE_JOB = keyed_table(
    "storage_job",
    "one job's directory",
    "audit_id directory",
    *columns("""
        root text!: it lies in
        cluster text!: that alone is known to write it; else empty
        job_id text!: its name; ids repeat, directories do not
        job_name text
        terminal flag: seen FINISHED, CANCELED or FAILED; null where nobody reported the job
        files int!
        bytes int!
    """),
    *_counts(*VERDICTS, "missing"),
    *columns("""
        segmented_files int!: physical files that hold segments of merged state
        segmented_file_bytes int!: their size on disk
        live_segment_bytes int!: of it, bytes of segments that something refers to
        small_files int!: of at most 1 MiB, _metadata left out
    """),
    *_counts("foreign"),
    *columns("""
        checkpoints int!: retained and read
        newest_checkpoint_id int
        newest_modified instant: of the _metadata of the newest retained checkpoint
    """),
)
"""``foreign``: files in other directories that its checkpoints refer to. Amplification is
``segmented_file_bytes / live_segment_bytes``.
"""

STORAGE_CHECKPOINT = keyed_table(
    "storage_checkpoint",
    "one retained checkpoint or savepoint whose _metadata was read",
    "audit_id metadata_path",
    *columns("""
        root text!
        cluster text!: empty where unknown
        job_id text!: whose directory it lies in, or that a savepoint's name fits; empty where
            unknown
        checkpoint_id int
        is_savepoint flag!: lies in a savepoint's directory
        metadata_bytes int
        modified instant: of its _metadata
        files int!: distinct files it refers to
        bytes int!: their live bytes: of merged files only the segments it refers to
    """),
    *_counts("foreign", "missing"),
    *columns("""
        self_contained flag!: no reference outside the directories of its own job
        relocatable flag!: no absolute path in it
        resolvable flag: every file is there; null where some lie outside the audited roots or
            were not listed
        previous_path text: _metadata of the retained checkpoint before it, of the same job
        new_files int: physical files that previous_path does not refer to; null without one
        verdict text!: live or retained_waste
        successor_job_id text: of waste: the job restored from it that is whole by itself; null
            where its job was attested to be dead
    """),
)

STORAGE_OPERATOR_STATE = keyed_table(
    "storage_operator_state",
    "operator state of one operator in one retained checkpoint; operators with little of it "
    "left out",
    "audit_id metadata_path operator_id",
    *columns("""
        root text!
        cluster text!: empty where unknown
        job_id text!: empty where unknown
        checkpoint_id int
        is_savepoint flag!
        modified instant: of the _metadata
        operator_name text: 2.0 and later
        subtasks int!: that have operator state
        operator_bytes int!: of operator state
        files int!: distinct files of its operator state; what lies in the _metadata is in none
        elements int!: of all named lists; each has an offset of 8 bytes in the _metadata
        union_elements int!: of them those that a restore hands to every subtask
        states json!: [{name, mode, elements, most}], most of one subtask; ten at most
    """),
)

STORAGE_CHAIN = keyed_table(
    "storage_chain",
    "one job depends on another",
    "audit_id directory job_id other_directory kind",
    *columns("""
        root text!: of other_directory; empty where none was audited
        other_job_id text!
        kind text!: refers or restored_from
        files int!: files of the other job referred to; 0 for restored_from
        bytes int!
        checkpoints int!: of this job that do
    """),
)

STORAGE_MISSING = keyed_table(
    "storage_missing",
    "one file that a checkpoint refers to and that is not there; at most 1,000 a checkpoint",
    "audit_id metadata_path path",
    *columns("""
        root text!: where the file should be
        bytes int
        superseded flag!: a later checkpoint of the chain is whole: information only
    """),
)


STORAGE_DOUBT = keyed_table(
    "storage_doubt",
    "one thing that could not be read or known and keeps the files that it may refer to",
    "audit_id subject reason",
    *columns("""
        root text!: where it was met; empty where no root is
        detail message: one sentence: what was expected, what to do
        reach text!: named_files, job_directory, jobs, prefix or all_roots: what it may refer to
        places json!: [directories and ids of jobs that it reaches], 1,000 at most
        more_places int!: how many more there are
        blocked_files int!: within its reach, kept by nothing but doubt
        blocked_bytes int!
        statements json!: [{kind, subject, …}], what an operator can state to end it
    """),
)

AUDIT_TABLES: dict[str, ServingTable] = {
    table.name: table
    for table in (
        STORAGE_ROOT,
        STORAGE_VERDICT,
        STORAGE_JOB,
        STORAGE_CHECKPOINT,
        STORAGE_OPERATOR_STATE,
        STORAGE_CHAIN,
        STORAGE_MISSING,
        STORAGE_DOUBT,
    )
}

_FILE = columns("""
    listed_path text: as the file system spelled it
    bytes int
    modified instant: null where the storage does not report it
    first_seen_at instant!: as_of of the first audit that listed it
    verdict text!
    reason text!
    kind text: of orphans
    place text!: which part of Flink's layout
    cluster text: null where unknown
    job_id text: whose directory it lies in; null where none is
    checkpoint_id int: of chk-N
    replication int: copies of each block, of HDFS; null where the listing does not say
    unreferenced_since instant: as_of of the first audit since which nothing refers to it; null
        while something does
    last_referred_at instant: as_of of the last audit in which something did
    last_referrer text: a _metadata that referred to it then
    vanished_referrer text: a _metadata that did and is gone without a discard seen
    unlisted_at instant: as_of of an audit that listed its root whole, and lacked it although it was
        older
    listed_since instant: of a file with unlisted_at: as_of of the first audit from which on all
        have listed it
""")

STORAGE_FILE = keyed_table(
    "storage_file",
    "one file that is not live, sorted by root and path",
    "audit_id root path",
    *_FILE,
)
STORAGE_LIVE = keyed_table(
    "storage_live", "one live file, in no order", "audit_id root path", *_FILE
)
STORAGE_REFERENCE = keyed_table(
    "storage_reference",
    "one file that one retained checkpoint refers to",
    "audit_id metadata_path path",
    *columns("""
        bytes int!: of a merged file the distinct segments that this checkpoint refers to
        segmented flag!
    """),
)

PENDING = "storage_pending"
"""State for the next audit: (metadata_path, path) of checkpoints that were not read."""

NEEDED = "storage_needed"
"""State: (job_id) of jobs whose task-owned files may be needed; null for all jobs."""

FILE_TABLES: dict[str, ServingTable] = {
    table.name: table for table in (STORAGE_FILE, STORAGE_LIVE, STORAGE_REFERENCE)
}

RESTORES = "storage_restores"
"""State of an audit: restores of jobs that may have to be restored again."""
