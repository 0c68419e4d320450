"""Flink's directory layout, as regular expressions to search in canonical paths. They mean the same
to Python's ``re`` and, with another ``END``, to RE2 (of Arrow). They match only names that Flink
gives: other files beside Flink's are ``UNKNOWN``. A new place is an entry of ``PLACES``, whose
order matters.
"""

from dataclasses import dataclass

METADATA_NAME = "_metadata"
"""All files of this name are read: a moved or copied checkpoint still refers to files."""
UNFINISHED_METADATA = f"/.{METADATA_NAME}.inprogress."
"""If storage can rename, Flink first writes a ``_metadata`` to such a name. Source: Flink's
``LocalRecoverableWriter`` and ``HadoopRecoverableWriter``.
"""

QUARANTINE_SUFFIX = ".weir-quarantine"
"""Suffix of a directory beside a root, to which clean-ups move files."""

UNKNOWN = "unknown"
"""High availability, blobs, jars and files of other systems: never touched."""
DATABASE = "database"
"""A ForSt database, in ``shared/`` of checkpoint storage or below
``state.backend.forst.primary-dir``. Checkpoints refer to its files, unless they have copies. Only
its tables (``.sst``) are there; other files are local. Source: Flink's ``ForStStateBackend``,
``ForStPathContainer``, ``FileMappingManager`` and ``DataTransferStrategyBuilder``; seen in 2.0.1
and 2.3.0.
"""
UNOWNED = "unowned"

END = r"(?![\s\S])"
"""Not "$", which also matches before a line end."""
UUID_CHARS, JOB_CHARS = 36, 32
_UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_JOB = "/([0-9a-f]{32})"


@dataclass(frozen=True, slots=True)
class Place:
    """Group 1 of ``pattern`` is the job id (empty or missing without one), group 2 the checkpoint
    id if ``numbered``. A match contains ``literal``, which is found many times as fast.
    ``candidate``: the files may be orphans; files of other places are always kept.
    """

    name: str
    literal: str
    pattern: str
    numbered: bool = False
    candidate: bool = True


PLACES = (
    Place(
        "savepoint",
        "/savepoint-",
        rf"/savepoint-[0-9a-f]{{6}}-[0-9a-f]{{12}}/()[^/][\s\S]*{END}",
        candidate=False,
    ),
    Place(
        "metadata",
        f"/{METADATA_NAME}",
        rf"(?:{_JOB}|/[^/]+|)/chk-(\d+)/{METADATA_NAME}{END}",
        numbered=True,
    ),
    Place(
        "exclusive",
        "/chk-",
        rf"{_JOB}/chk-(\d+)/(?:{_UUID}|\.{METADATA_NAME}\.inprogress\.{_UUID}){END}",
        numbered=True,
    ),
    Place(
        "shared",
        "/shared/",
        rf"{_JOB}/shared/{_UUID}{END}",
    ),
    Place(
        "merged_shared",  # segments of shared state of one subtask
        "/shared/job_",
        rf"{_JOB}/shared/job_[^/]+_op_[^/]+/{_UUID}{END}",
    ),
    Place(
        "taskowned",  # no longer owned by operators; materialised changelog state
        "/taskowned/",
        rf"{_JOB}/taskowned/{_UUID}{END}",
    ),
    Place(
        "merged_taskowned",  # segments of one TaskManager's exclusive state
        "/taskowned/job_",
        rf"{_JOB}/taskowned/job_[^/]+_tm_[^/]+/{_UUID}{END}",
    ),
    Place(
        "changelog",  # state changes between materialisations
        "/dstl/",
        rf"{_JOB}/dstl/{_UUID}{END}",
    ),
    Place(
        DATABASE,
        "/op_",
        rf"{_JOB}(?:/shared)?/op_[^/]+_attempt_\d+/db/{_UUID}{END}",
    ),
    Place(
        UNOWNED,
        "/chk-",
        rf"()/chk-(\d+)/[^/]+{END}",
        numbered=True,
        candidate=False,
    ),
)

TASK_OWNED = ("taskowned", "merged_taskowned", "merged_shared", "changelog")
"""Places with files that may be in use although no ``_metadata`` names them."""
CANDIDATES = frozenset(place.name for place in PLACES if place.candidate)
JOB_DIRECTORY = rf"^([\s\S]*{_JOB})(?:/[\s\S]*)?{END}"
"""Group 1: the path up to the last directory named like a job id; group 2: that id."""
