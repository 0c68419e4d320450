"""Codes of the storage audit, and their sentences for people."""

from typing import NamedTuple

from ingest.messages import message

LIVE = "live"
RETAINED_WASTE = "retained_waste"
ORPHAN = "orphan"
RECENT = "recent"
KEPT = "kept"

VERDICTS = {
    LIVE: message("A retained checkpoint or savepoint, or a job that runs, needs the file."),
    RETAINED_WASTE: message(
        "Only checkpoints that nobody will restore from need it: the job that followed has a "
        "complete checkpoint of its own."
    ),
    ORPHAN: message("Flink wrote it and nothing refers to it any more."),
    RECENT: message("Nothing refers to it, but it is too early to say that nothing will."),
    KEPT: message("It may be needed, or Weir cannot know, so it is kept."),
}
"""Every file has one verdict. Only ``retained_waste`` and ``orphan`` can get into a plan."""

REASONS: dict[str, dict[str, str]] = {
    LIVE: {
        "referred": message("The _metadata of a retained checkpoint or savepoint refers to it."),
        "snapshot": message("It is the _metadata of a retained checkpoint or savepoint."),
        "restored_from": message(
            "It is in a directory from which a job that has not ended was restored."
        ),
    },
    RETAINED_WASTE: {
        "superseded": message(
            "Its job has ended. The job restored from it has since completed a whole "
            "checkpoint that needs only its own files."
        ),
        "attested_dead": message(
            "Only checkpoints of a job that an operator attested to be dead need it."
        ),
    },
    ORPHAN: {
        "unreferenced": message(
            "Two audits found nothing that refers to it, it is older than the age guard and than "
            "any checkpoint in flight."
        )
    },
    RECENT: {
        "age_guard": message(
            "Written or first seen by Weir less than the age guard before this audit."
        ),
        "in_flight": message("Not older than the oldest checkpoint that its job has in flight."),
        "ended_recently": message(
            "Its job completed a checkpoint less than the age guard ago and has ended: its last "
            "one may not be listed yet."
        ),
        "first_audit": message(
            "This audit is the first that found it unreferenced; a second one must confirm it."
        ),
        "no_checkpoint_since": message(
            "Its job has not completed a checkpoint since an audit first found it unreferenced."
        ),
    },
    KEPT: {
        "excluded": message(
            "It lies below a directory that an operator excluded: its files are never judged."
        ),
        "unknown_name": message(
            "Not a name of Flink's checkpoint layout: high-availability data, jars, blobs and "
            "foreign files are never touched."
        ),
        "savepoint": message(
            "It lies in a savepoint's directory; savepoints belong to those who took them."
        ),
        "no_job_level": message(
            "Its checkpoint directory has no level of a job id, so nobody can say whose it is."
        ),
        "in_doubt": message(
            "Something that may refer to it could not be read or listed; see the doubts of this "
            "audit, each with its reach and what ends it."
        ),
        "unreadable_snapshot": message("It is a _metadata that could not be read."),
        "vanished": message("It was listed, but was no longer there when it was read."),
        "bad_time": message("Its modification time is missing or lies in the future."),
        "two_owners": message(
            "More than one registered cluster writes to the directory of this job, or may: "
            "give each application a checkpoint directory of its own."
        ),
        "writer_unknown": message(
            "A job has this id, but is not known to write this directory: register the root for "
            "the one cluster that does."
        ),
        "job_unseen": message(
            "No cluster that Weir can see has reported a job that writes here: it counts as "
            "running."
        ),
        "task_owned": message(
            "A task-owned, changelog (dstl) or merged file of a job that was not seen to end: its "
            "tasks may hold handles that no _metadata names."
        ),
        "task_owned_needed": message(
            "A task-owned, changelog (dstl) or merged file. A snapshot of its job or of a successor "
            "is retained, and may need it without naming it."
        ),
        "task_owned_unknown": message(
            "A task-owned, changelog (dstl) or merged file. A snapshot whose job is not known, "
            "such as a moved savepoint, or a job that Weir cannot see may need it."
        ),
        "database": message("It lies in a ForSt database that an attempt of today may read."),
        "was_referred": message(
            "A checkpoint or savepoint that referred to it is gone, and Weir did not see "
            "Flink discard it."
        ),
        "was_unlisted": message(
            "An earlier audit did not list it although it is older. Once audits have listed it "
            "each time for as long as the age guard, "
            "the last of them without doubts, it counts as a file that was never seen before."
        ),
        "referrer_lost": message(
            "When it was not listed, a checkpoint that referred to files of its job "
            "disappeared, and Weir did not see Flink discard it. That checkpoint may need the "
            "file."
        ),
        "referrer_unread": message(
            "A checkpoint that this audit did not read refers to it: audit all roots, and "
            "register that checkpoint's root again."
        ),
        "last_unfound": message(
            "Its job, or one that stems from it, ended, and the last checkpoint of that was neither "
            "found nor seen discarded: its readers may need the file."
        ),
        "earlier_run": message(
            "It is older than the known run of its job, which did not begin from a checkpoint of "
            "this directory: the last checkpoint of an earlier run is not known."
        ),
        "later_run": message(
            "It was written after its job had ended: somebody else may write to this directory."
        ),
        "other_spelling": message(
            "A reference, or another file, ends in the same path elsewhere: it may be this very "
            "file under another name."
        ),
    },
}
"""Verdict → reason code → one sentence."""

KINDS = {
    "unacknowledged": message(
        "Left by a TaskManager that died or lost its task before it acknowledged the checkpoint."
    ),
    "failed_checkpoint": message("Left by a checkpoint that expired, was declined or was aborted."),
    "dead_job": message("Left by a job that has ended and has no retained snapshot."),
    "merging_remainder": message("Merged file (file merging) left by a job that has ended."),
    "ended_attempt": message(
        "Left in the ForSt database of an attempt of a subtask that has ended."
    ),
    "unfinished_metadata": message(
        "Left by a JobManager that died or failed while it wrote a _metadata under this name: "
        "Flink renames it once it is whole."
    ),
    "undeleted": message("Its checkpoint was discarded, but this file was not deleted."),
    "unknown": message("The cause is not known."),
}
"""Why a file is an orphan; null for all other verdicts."""

TWO_NAMES, VOID_ATTESTATION = "two_names", "void_attestation"

NAMED_FILES, JOB_DIRECTORY, JOBS, PREFIX, ALL_ROOTS = (
    "named_files",
    "job_directory",
    "jobs",
    "prefix",
    "all_roots",
)
REACHES = {
    NAMED_FILES: message("Only files of the same name, which are kept one by one."),
    JOB_DIRECTORY: message("The files of one job directory."),
    JOBS: message("The files of the jobs that it names, or that its job stems from."),
    PREFIX: message("The files below these directories."),
    ALL_ROOTS: message("Any file of all audited roots: nobody can know what it refers to."),
}
"""How far a doubt reaches: which files its hidden subject may refer to. In ascending order."""

DEAD_JOB, EXCLUDED, FOREIGN_FILE = "dead_job", "excluded", "foreign_file"
STATEMENTS = {
    DEAD_JOB: message(
        "The job is dead: it will not start again, and nobody will restore from its checkpoints."
    ),
    EXCLUDED: message(
        "What lies below this directory is a tree of its own: its files are never judged and never "
        "deleted."
    ),
    FOREIGN_FILE: message("This file is no checkpoint of Flink: it refers to nothing."),
}
"""Statements of operators that end doubts."""

ACTIONS = {
    "wait": message("It ends with the next checkpoint of the job. Audit again after that."),
    "attest_dead": message(
        "If the job is gone for good, attest that it is dead (manage.py storage_statement dead_job)."
    ),
    "acknowledge": message(
        "If it is no checkpoint of Flink, acknowledge the file (manage.py storage_statement "
        "foreign_file)."
    ),
    "make_readable": message("Let Weir read it, or move it out of the root. Then audit again."),
    "update": message(
        "Update Weir. If nobody needs the checkpoint, move its directory out of the root."
    ),
    "declare_alias": message(
        "Declare what the name means as an alias (WEIR_STORAGE_ALIASES): of the root, or of itself "
        "if it is elsewhere."
    ),
    "exclude": message(
        "If it is a copy, exclude the directory that nobody writes to (manage.py storage_statement "
        "excluded)."
    ),
    "add_root": message("Add the directory as a root, so that it is audited too."),
    "rename": message("Rename the file, or move it out of the root."),
    "remove_link": message("Remove the link, or declare it as an alias of what it leads to."),
    "attest_again": message("Look at what was written since, then attest again."),
}
"""What ends a doubt."""


class Doubt(NamedTuple):
    meaning: str
    actions: tuple[str, ...]


DOUBTS = {
    "empty_metadata": Doubt(
        message("A _metadata is empty: it is being written, or its writer died."),
        ("wait", "acknowledge", "attest_dead"),
    ),
    "incomplete_metadata": Doubt(
        message("A _metadata ends too early: it is still being written, or its writer died."),
        ("wait", "acknowledge", "attest_dead"),
    ),
    "no_magic_number": Doubt(
        message("A _metadata does not begin as Flink begins one, and is neither Parquet nor JSON."),
        ("acknowledge", "attest_dead"),
    ),
    "damaged_metadata": Doubt(
        message("A _metadata contradicts the format."), ("update", "attest_dead")
    ),
    "unsupported_metadata": Doubt(
        message("A _metadata has a format version or a kind of handle that Weir does not know."),
        ("update", "attest_dead"),
    ),
    "unreadable_file": Doubt(
        message("A _metadata could not be opened or read."), ("make_readable", "attest_dead")
    ),
    "vanished_metadata": Doubt(
        message(
            "A _metadata was listed, but was no longer there when it was read, and no newer one "
            "followed."
        ),
        ("wait", "attest_dead"),
    ),
    "unlisted": Doubt(
        message("A directory could not be listed."), ("make_readable", "attest_dead")
    ),
    "link": Doubt(
        message(
            "A link gives files a second name, or hides a checkpoint; Weir does not follow it."
        ),
        ("remove_link",),
    ),
    "bad_name": Doubt(
        message("A file has a name that cannot be compared with references."), ("rename",)
    ),
    "bad_path": Doubt(message("A path cannot be normalised."), ("update", "attest_dead")),
    "unknown_authority": Doubt(
        message(
            "A reference names a file system that no audited root is on; declare an alias for it."
        ),
        ("declare_alias",),
    ),
    "other_spelling": Doubt(
        message(
            "A reference of which no file was found ends like a listed file: it may be that file "
            "under another name."
        ),
        ("declare_alias",),
    ),
    TWO_NAMES: Doubt(
        message(
            "A directory is, or seems to be, registered under two names: a file that is needed "
            "under one name looks unneeded under the other."
        ),
        ("declare_alias", "exclude"),
    ),
    "restored_from_gone": Doubt(
        message(
            "A running job was restored from a snapshot that is gone. No newer checkpoint of the "
            "job was found, or it still reads files there (ForSt)."
        ),
        ("wait", "attest_dead"),
    ),
    "restored_from_elsewhere": Doubt(
        message(
            "A running job was restored from a snapshot outside these roots. No newer checkpoint "
            "of the job was found, or it still reads files there (ForSt)."
        ),
        ("wait", "add_root", "attest_dead"),
    ),
    "restored_from_unknown": Doubt(
        message(
            "A running job was restored from a snapshot with an unknown path, and has no snapshot "
            "of its own."
        ),
        ("wait", "attest_dead"),
    ),
    "writes_elsewhere": Doubt(
        message(
            "A job that stems from an audited root writes to a directory that is not audited, and "
            "may refer back."
        ),
        ("add_root", "attest_dead"),
    ),
    "no_checkpoint_found": Doubt(
        message("A job runs and has completed checkpoints, but the newest of them was not found."),
        ("wait", "attest_dead"),
    ),
    VOID_ATTESTATION: Doubt(
        message(
            "A job that was attested to be dead is running, or something was written to its "
            "directory since."
        ),
        ("attest_again",),
    ),
}
"""Code → meaning of a doubt and the actions that end it. A doubt may hide the only referrer of a
file: within its reach (``spark_jobs.storage.reach``) nothing is deleted. A root can be cleaned
unless a doubt reaches all of it.
"""

NOT_CLEANABLE = {
    "not_attested": message("Nobody has attested that every reader of this root is known."),
    TWO_NAMES: message(
        "It is, or seems to be, one directory with another root: a file that is needed under "
        "one name looks unneeded under the other."
    ),
    "in_doubt": message("The audit has doubts that reach the whole root."),
    "unreachable_cluster": message("A cluster of this root cannot be seen at present."),
    "first_audit": message("Nothing can be an orphan before a second audit."),
}
"""Why no clean-up plan can be made for a root."""

CHAIN_KINDS = ("refers", "restored_from")
"""A job's checkpoints refer to files of another job, or it was restored from its snapshot."""
