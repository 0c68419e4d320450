"""The tables of a storage audit for the web application. ``AUDIT_TABLES`` are loaded into the
database; ``FILE_TABLES`` have a row for each file or reference and stay Parquet in the run
directory. Texts are codes of :mod:`spark_jobs.storage_words`. In keys, an unknown ``cluster`` or
``job_id`` is empty. A new column: its line here, what fills it (``spark_jobs/storage/``), and the
field of the same name in ``webapp/storage/models.py``; what the next audit needs of a file is in
``KNOWN_OF_FILE`` (``spark_jobs/storage/carried.py``).
"""

from spark_jobs.serving import Column, ServingTable
from spark_jobs.storage_words import VERDICTS


def _key(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, "text", required=True) for name in names)


def _counts(*prefixes: str) -> tuple[Column, ...]:
    return tuple(
        Column(f"{prefix}_{unit}", "int", required=True)
        for prefix in prefixes
        for unit in ("files", "bytes")
    )


_AMPLIFICATION = (
    Column(
        "segmented_files", "int", "physical files that hold segments of merged state", required=True
    ),
    Column("segmented_file_bytes", "int", "their size on disk", required=True),
    Column(
        "live_segment_bytes",
        "int",
        "of it, bytes of segments that something refers to",
        required=True,
    ),
)
"""Amplification is ``segmented_file_bytes / live_segment_bytes``."""

_RAW = Column(
    "raw_bytes",
    "int",
    (
        "each file as often as the listing says that it is stored; null where it does not say so "
        "of each"
    ),
)

STORAGE_ROOT = ServingTable(
    "storage_root",
    "one root in one audit",
    ("audit_id", "root"),
    (
        *_key("audit_id", "root"),
        Column("as_of", "instant", "when its listing began", required=True),
        Column("files", "int", required=True),
        Column("bytes", "int", required=True),
        *_counts(*VERDICTS, "missing"),
        Column("metadata_files", "int", "_metadata files listed, readable or not", required=True),
        Column(
            "checkpoints", "int", "of them read: retained checkpoints and savepoints", required=True
        ),
        Column(
            "replaced",
            "int",
            "of those listed: gone when they were to be read, as at short intervals; what they alone "
            "referred to has no reference. Null in older audits",
        ),
        Column("unlisted", "int", "directories that could not be listed", required=True),
        Column("doubts", "int", "that reach files of this root", required=True),
        *_AMPLIFICATION,
        _RAW,
        Column("cleanable", "flag", "whether a plan can be made", required=True),
        Column("not_cleanable", "json", "[reason codes]", required=True),
    ),
)

STORAGE_VERDICT = ServingTable(
    "storage_verdict",
    "files of one root by verdict, reason and kind",
    ("audit_id", "root", "verdict", "reason", "kind"),
    (
        *_key("audit_id", "root", "verdict", "reason", "kind"),
        Column("files", "int", "kind is empty where the verdict has none", required=True),
        Column("bytes", "int", required=True),
        _RAW,
    ),
)

STORAGE_JOB = ServingTable(
    "storage_job",
    "one job's directory",
    ("audit_id", "directory"),
    (
        *_key("audit_id", "directory"),
        Column("root", "text", "it lies in", required=True),
        Column("cluster", "text", "that alone is known to write it; else empty", required=True),
        Column("job_id", "text", "its name; ids repeat, directories do not", required=True),
        Column("job_name", "text"),
        Column(
            "terminal",
            "flag",
            "seen FINISHED, CANCELED or FAILED; null where nobody reported the job",
        ),
        Column("files", "int", required=True),
        Column("bytes", "int", required=True),
        *_counts(*VERDICTS, "missing"),
        *_AMPLIFICATION,
        _RAW,
        Column("small_files", "int", "of at most 1 MiB, _metadata left out", required=True),
        *_counts("foreign"),
        Column("checkpoints", "int", "retained and read", required=True),
        Column("newest_checkpoint_id", "int"),
        Column("newest_modified", "instant", "of the _metadata of the newest retained checkpoint"),
    ),
)
"""``foreign``: files in other directories that its checkpoints refer to.

``missing``: files its checkpoints refer to.
"""

_AGAINST_PREVIOUS = {
    "files": "physical files, against previous_path; null without one",
    "bytes": "of physical files, of merged ones their size on disk; null without previous_path",
    "segments": "segments of merged files, against previous_path; null without one",
    "segment_bytes": "of segments of merged files; null without previous_path",
}

STORAGE_CHECKPOINT = ServingTable(
    "storage_checkpoint",
    "one retained checkpoint or savepoint whose _metadata was read",
    ("audit_id", "metadata_path"),
    (
        *_key("audit_id", "metadata_path"),
        Column("root", "text", required=True),
        Column("cluster", "text", "empty where unknown", required=True),
        Column(
            "job_id",
            "text",
            "whose directory it lies in, or that a savepoint's name fits; empty where unknown",
            required=True,
        ),
        Column("checkpoint_id", "int"),
        Column("is_savepoint", "flag", "lies in a savepoint's directory", required=True),
        Column("metadata_bytes", "int"),
        Column("modified", "instant", "of its _metadata"),
        Column("files", "int", "distinct files it refers to", required=True),
        Column(
            "bytes",
            "int",
            "their live bytes: of merged files only the segments it refers to",
            required=True,
        ),
        Column("inline_bytes", "int", "state within the _metadata itself", required=True),
        *_counts("own", "foreign", "missing"),
        Column(
            "self_contained",
            "flag",
            "no reference outside the directories of its own job",
            required=True,
        ),
        Column("relocatable", "flag", "no absolute path in it", required=True),
        Column(
            "resolvable",
            "flag",
            "every file is there; null where some lie outside the audited roots or were not listed",
        ),
        Column(
            "previous_path",
            "text",
            "_metadata of the retained checkpoint before it, of the same job",
        ),
        *(
            Column(f"{kind}_{unit}", "int", means)
            for kind in ("shared", "new", "dropped")
            for unit, means in _AGAINST_PREVIOUS.items()
        ),
        *_AMPLIFICATION,
        Column("verdict", "text", "live or retained_waste", required=True),
        Column(
            "successor_job_id",
            "text",
            "of waste: the job restored from it that is whole by itself; null where its job was "
            "attested to be dead",
        ),
    ),
)

STORAGE_OPERATOR_STATE = ServingTable(
    "storage_operator_state",
    (
        "operator state of one operator in one retained checkpoint; operators with little of it "
        "left out"
    ),
    ("audit_id", "metadata_path", "operator_id"),
    (
        *_key("audit_id", "metadata_path", "operator_id"),
        Column("root", "text", required=True),
        Column("cluster", "text", "empty where unknown", required=True),
        Column("job_id", "text", "empty where unknown", required=True),
        Column("checkpoint_id", "int"),
        Column("is_savepoint", "flag", required=True),
        Column("modified", "instant", "of the _metadata"),
        Column("operator_name", "text", "2.0 and later"),
        Column("subtasks", "int", "that have operator state", required=True),
        Column("operator_bytes", "int", "of operator state", required=True),
        Column("keyed_bytes", "int", "of keyed state of the same operator", required=True),
        Column(
            "files",
            "int",
            "distinct files of its operator state; what lies in the _metadata is in none",
            required=True,
        ),
        Column(
            "elements",
            "int",
            "of all named lists; each has an offset of 8 bytes in the _metadata",
            required=True,
        ),
        Column(
            "union_elements",
            "int",
            "of them those that a restore hands to every subtask",
            required=True,
        ),
        Column(
            "broadcast_elements",
            "int",
            "of them those of which each subtask has all",
            required=True,
        ),
        Column(
            "states",
            "json",
            "[{name, mode, elements, most}], most of one subtask; ten at most",
            required=True,
        ),
    ),
)

STORAGE_CHAIN = ServingTable(
    "storage_chain",
    "one job depends on another",
    ("audit_id", "directory", "job_id", "other_directory", "kind"),
    (
        *_key("audit_id", "directory", "job_id", "other_directory"),
        Column("root", "text", "of other_directory; empty where none was audited", required=True),
        Column("other_job_id", "text", required=True),
        Column("kind", "text", "refers or restored_from", required=True),
        Column(
            "files", "int", "files of the other job referred to; 0 for restored_from", required=True
        ),
        Column("bytes", "int", required=True),
        Column("checkpoints", "int", "of this job that do", required=True),
    ),
)
"""``directory``: of the job that depends on the other; empty if unknown."""

STORAGE_MISSING = ServingTable(
    "storage_missing",
    "one file that a checkpoint refers to and that is not there; at most 1,000 a checkpoint",
    ("audit_id", "metadata_path", "path"),
    (
        *_key("audit_id", "metadata_path", "path"),
        Column("root", "text", "where the file should be", required=True),
        Column("bytes", "int"),
        Column(
            "superseded",
            "flag",
            "a later checkpoint of the chain is whole: information only",
            required=True,
        ),
    ),
)


STORAGE_DOUBT = ServingTable(
    "storage_doubt",
    "one thing that could not be read or known and keeps the files that it may refer to",
    ("audit_id", "subject", "reason"),
    (
        *_key("audit_id", "subject", "reason"),
        Column("root", "text", "where it was met; empty where no root is", required=True),
        Column("detail", "message", "one sentence: what was expected, what to do"),
        Column(
            "reach",
            "text",
            "named_files, job_directory, jobs, prefix or all_roots: what it may refer to",
            required=True,
        ),
        Column(
            "places",
            "json",
            "[directories and ids of jobs that it reaches], 1,000 at most",
            required=True,
        ),
        Column("more_places", "int", "how many more there are", required=True),
        Column(
            "blocked_files", "int", "within its reach, kept by nothing but doubt", required=True
        ),
        Column("blocked_bytes", "int", required=True),
        Column(
            "statements",
            "json",
            "[{kind, subject, …}], what an operator can state to end it",
            required=True,
        ),
    ),
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

_FILE = (
    *_key("audit_id", "root", "path"),
    Column("listed_path", "text", "as the file system spelled it"),
    Column("bytes", "int"),
    Column("modified", "instant", "null where the storage does not report it"),
    Column("first_seen_at", "instant", "as_of of the first audit that listed it", required=True),
    Column("verdict", "text", required=True),
    Column("reason", "text", required=True),
    Column("kind", "text", "of orphans"),
    Column("place", "text", "which part of Flink's layout", required=True),
    Column("cluster", "text", "null where unknown"),
    Column("job_id", "text", "whose directory it lies in; null where none is"),
    Column("checkpoint_id", "int", "of chk-N"),
    Column(
        "replication", "int", "copies of each block, of HDFS; null where the listing does not say"
    ),
    Column(
        "unreferenced_since",
        "instant",
        "as_of of the first audit since which nothing refers to it; null while something does",
    ),
    Column("last_referred_at", "instant", "as_of of the last audit in which something did"),
    Column("last_referrer", "text", "a _metadata that referred to it then"),
    Column("vanished_referrer", "text", "a _metadata that did and is gone without a discard seen"),
    Column(
        "unlisted_at",
        "instant",
        "as_of of an audit that listed its root whole, and lacked it although it was older",
    ),
    Column(
        "listed_since",
        "instant",
        "of a file with unlisted_at: as_of of the first audit from which on all have listed it",
    ),
)

STORAGE_FILE = ServingTable(
    "storage_file",
    "one file that is not live, sorted by root and path",
    ("audit_id", "root", "path"),
    _FILE,
)
STORAGE_LIVE = ServingTable(
    "storage_live", "one live file, in no order", ("audit_id", "root", "path"), _FILE
)
STORAGE_REFERENCE = ServingTable(
    "storage_reference",
    "one file that one retained checkpoint refers to",
    ("audit_id", "metadata_path", "path"),
    (
        *_key("audit_id", "metadata_path", "path"),
        Column(
            "bytes",
            "int",
            "of a merged file the distinct segments that this checkpoint refers to",
            required=True,
        ),
        Column("segmented", "flag", required=True),
    ),
)

PENDING = "storage_pending"
"""State for the next audit: (metadata_path, path) of checkpoints that were not read."""

NEEDED = "storage_needed"
"""State: (job_id) of jobs whose task-owned files may be needed; null if those of all may be."""

FILE_TABLES: dict[str, ServingTable] = {
    table.name: table for table in (STORAGE_FILE, STORAGE_LIVE, STORAGE_REFERENCE)
}

RESTORES = "storage_restores"
"""State of an audit: restores of jobs that may have to be restored again
(``spark_jobs.storage.carried.RESTORES``).
"""
