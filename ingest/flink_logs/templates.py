class Piece(str):
    """A regular expression; ``{piece:field}`` in an f-string makes it the group ``field``."""

    __slots__ = ()

    def __format__(self, field: str) -> str:
        return f"(?P<{field}>{self!s})" if field else str(self)


HEX_DIGIT = "[0-9a-f]"
HEX = Piece(f"{HEX_DIGIT}{{32}}")
INT = Piece("[0-9]{1,15}")
MS = Piece("[0-9]{1,12}")
SIGNED_MS = Piece("-?[0-9]{1,12}")
"""30 years at most, so that it can be added to any instant."""
SIGNED = Piece("-?[0-9]{1,15}")
STATE = Piece("[A-Z_]+")
ANY = Piece(r"[^\n]*?")
REST = Piece(r"[^\n]*")
WORD = Piece(r"[^ \n]+")
SNAPSHOT_NAME = Piece(r"[A-Z][A-Za-z ]*?")

JOB = f"{HEX:job_id}"
CHECKPOINT = f"{INT:checkpoint_id}"
EXECUTION = f"(?P<execution_id>{HEX}(?:_{HEX}_[0-9]{{1,9}}_[0-9]{{1,9}})?)"
"""32 hex digits up to 1.15, ``{graph}_{vertex}_{subtask}_{attempt}`` from 1.16 on."""
TASK = f"{ANY:task}"
SUBTASK = "(?P<subtask_number>[0-9]{1,9})/(?P<parallelism>[0-9]{1,9})"
ATTEMPT = f"{INT:attempt}"
TASK_ATTEMPT = rf"{TASK} \({SUBTASK}\)(?:#{ATTEMPT})?"
CONTAINER = r"(?P<container>[^ (\n]+)"
HOST = r"(?P<host>[^:)\n]+)"
WORKER = rf"{CONTAINER}(?:\({HOST}(?::[^)\n]*)?\))?"
"""YARN's resource ids are followed by a node: ``container_1(node-4:8041)``."""
LOCATION_OR_NONE = (
    rf"(?:{WORD:container} @ {WORD:host} \(dataPort=-?[0-9]+\)|\[?unassigned "
    rf"resource\]?|\(unassigned\)|Unknown location)"
)
# ``patterns.py`` takes the names out, so groups of one expression may share one.
CHECKPOINT_TYPE = (
    r"(?:[A-Za-z]+\{name='(?P<checkpoint_type>[^'\n]*)'[^\n]*?\}|(?P<checkpoint_type>[A-Z_]+))"
)
_LOCATION = (
    rf"(?:[A-Za-z]+ \{{(?:fileSystem=[^,{{}}\n]*, "
    rf"checkpointDirectory=[^,{{}}\n]*?(?:%s/chk-{CHECKPOINT})?, [^{{}}\n]*"
    rf"|subtaskKey=[^{{}}\n]*? checkpointId={CHECKPOINT}|[^{{}}\n]*)\}}|[^(){{}}\n]*)"
)
CHECKPOINT_LOCATION = _LOCATION % ""
"""A location of checkpoint files: has a directory, or an id (file merging, 1.20+), or neither."""
JOB_LOCATION = _LOCATION % f"(?:/{JOB})?"

_END = "(?![0-9A-Za-z_-])"
_ID = r"[^ ()'\n]{1,300}?"
ANY_FORM: tuple[tuple[str, str], ...] = (
    (JOB, rf"(?:{JOB}{_END}|{_ID})"),
    (
        EXECUTION,
        rf"(?:{EXECUTION}{_END}|(?P<execution_id>{HEX}(?:_[0-9]{{1,9}}){{1,3}}){_END}|{_ID})",
    ),
    (LOCATION_OR_NONE, rf"(?:{LOCATION_OR_NONE}|{ANY})"),
    (f" {HEX_DIGIT}{{32}}(?:", f" {_ID}(?:"),
)
"""Parts of a line → what stands there in ``Pattern.tolerant``: any form of ids and locations."""
