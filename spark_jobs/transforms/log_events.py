"""Log records → typed events by the pattern table, as :mod:`ingest.flink_logs.recognise` reads them, natively.

Ten entries at a time are one expression, an alternative each, which rewrites the line into the event's fields
separated by a control character. So a line is matched once, whatever its fields, and the code that Spark
generates stays small: the JVM never optimises a method above 8,000 bytes, and a branch for each entry makes 50,000.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from operator import or_
from typing import get_args, get_type_hints

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.flink_logs.events import LogEvent
from ingest.flink_logs.patterns import KEPT_LEVELS, PATTERNS, READ_CHARS, TRACE_PATTERNS
from ingest.flink_logs.reasons import CAUSE_OF_PIECE, REASON_OF_TEXT, any_of
from ingest.flink_logs.recognise import CHECKPOINT_FAILURE_KINDS, DETAIL_CHARS, FAILURE_KINDS, INT_FIELDS, LAST_EPOCH_MS, MESSAGE_CHARS
from spark_jobs.serving import LOG_EVENT_FIELDS
from spark_jobs.transforms.binding import let
from spark_jobs.transforms.known_pieces import of_first_piece, of_piece
from spark_jobs.transforms.quick_text import first_chars, first_line, from_byte, holds, replaced

SEPARATOR = "\x01"
"""Between the fields of a rewritten line; a log line that holds one is read without it."""

READ_FIELDS: tuple[str, ...] = tuple(dict.fromkeys(name for pattern in PATTERNS for name in pattern.fields))
"""Everything the table reads, in a fixed order; position n + 2 of a rewritten line, behind group and number of the entry."""

GROUP_SIZE = 10
GROUPS_AT_ONCE = 3
GROUPS = tuple(PATTERNS[first : first + GROUP_SIZE] for first in range(0, len(PATTERNS), GROUP_SIZE))
_ENTRIES = (
    *((pattern.kind, pattern.reason) for pattern in PATTERNS),
    *(("", ""),) * (-len(PATTERNS) % GROUP_SIZE),
    *((pattern.kind, pattern.reason) for pattern in TRACE_PATTERNS),
)
"""Kind and implied reason at ``group * GROUP_SIZE + number``; those told by a trace are the last group."""

RECORD_COLUMNS = ("cluster", "observed_at", "process", "ts", "level", "record_hash", "ordinal", "file", "offset")
EVENT_COLUMNS = (
    "kind", *RECORD_COLUMNS, "job_id", "job_name", "checkpoint_id", "checkpoint_type", "is_savepoint", "trigger_time",
    "execution_id", "vertex_id", "task", "subtask", "parallelism", "attempt", "container", "host", "from_state", "to_state",
    "reason", "reason_text", "state_bytes", "duration_ms", "path", "count", "message", "detail",
)  # fmt: skip

_DDL_OF_TYPE = {str: "string", int: "bigint", bool: "boolean", datetime: "timestamp"}
_NOT_OF_EVENT = {"cluster": "string", "observed_at": "timestamp", "fields": "string", "served_reason": "string"}


def _ddl(name: str) -> str:
    if name in _NOT_OF_EVENT:
        return _NOT_OF_EVENT[name]
    hint = get_type_hints(LogEvent)[name]
    return next(_DDL_OF_TYPE[kind] for kind in get_args(hint) or (hint,) if kind in _DDL_OF_TYPE)


SERVED_SCHEMA = ", ".join(f"`{name}` {_ddl(name)}" for name in (*EVENT_COLUMNS, "fields", "served_reason"))
"""Of what :func:`with_served` makes."""


def recognised(log_records: DataFrame) -> DataFrame:
    """One row per event (``EVENT_COLUMNS``), as often as the lake holds it: a map over the records, nothing is sorted or sent around."""
    lines = log_records.select(*RECORD_COLUMNS, F.explode(F.array(_taken_apart(F.col("message")))).alias("told")).select(
        *RECORD_COLUMNS, "told.*"
    )
    matched = _matched(lines).where("text is not null")
    split = matched.select(*RECORD_COLUMNS, "line", "detail", F.explode(F.array(_fields(F.col("text")))).alias("read"))
    typed = split.select(*RECORD_COLUMNS, "detail", *(value.alias(name) for name, value in _typed(F.col("read")).items()))
    why = F.explode(F.array(_why(F.col("kind"), F.col("implied"), F.col("detail"), F.col("said"))))
    told = typed.select("*", why.alias("why")).withColumns({"reason": F.col("why.reason"), "reason_text": F.col("why.reason_text")})
    return told.select(*EVENT_COLUMNS)


def with_served(located: DataFrame) -> DataFrame:
    """Located events and what ``log_event`` has beside their columns: ``fields``, and the reason or the change of state."""
    change = F.concat_ws(" -> ", "from_state", "to_state")
    rest = F.struct(*(F.col(name) for name in LOG_EVENT_FIELDS))
    return located.withColumns(
        {
            "fields": F.to_json(rest, {"ignoreNullFields": "true"}),
            "served_reason": F.coalesce("reason", F.nullif(change, F.lit(""))),
        }
    )


def _taken_apart(message: Column) -> Column:
    """Struct of its first ``line`` and the ``detail`` below it, null where there is none."""

    def parts(line: Column) -> Column:
        below = first_chars(from_byte(message, F.octet_length(line) + 2), DETAIL_CHARS)
        detail = F.when(F.octet_length(line) < F.octet_length(message), F.nullif(below, F.lit("")))
        return F.struct(line.alias("line"), detail.alias("detail"))

    return let(first_line(message), parts)


def _matched(lines: DataFrame) -> DataFrame:
    """``text``: ``group, number, fields…`` of the first entry that matches, as one text; null where none does."""
    readable = replaced(first_chars(F.col("line"), READ_CHARS), SEPARATOR, "")
    text, matched = F.lit(None).cast("string"), lines.withColumn("readable", readable)
    for first in range(0, len(GROUPS), GROUPS_AT_ONCE):
        found = F.coalesce(text, *(_by_group(F.col("readable"), number) for number in range(len(GROUPS))[first : first + GROUPS_AT_ONCE]))
        matched, text = _behind_barrier(matched, lines.columns, found), F.col("text")
    by_trace = F.when(F.col("level").isin(*KEPT_LEVELS), _by_trace(F.col("line"), F.col("detail")))
    return _behind_barrier(matched, lines.columns, F.coalesce(text, by_trace))


def _behind_barrier(lines: DataFrame, columns: Sequence[str], text: Column) -> DataFrame:
    """Exploding an array of one: Spark neither copies an expression across it nor compiles both sides into one method."""
    return lines.select(*columns, "readable", F.explode(F.array(text)).alias("text"))


def _by_group(line: Column, number: int) -> Column:
    """Ten digits stand behind the line, each alternative picks its own: so the result says which one matched."""
    groups: dict[str, str] = dict.fromkeys(("number", *READ_FIELDS), "")
    alternatives, count = [], 0
    for place, pattern in enumerate(GROUPS[number]):
        alternatives.append(f"{pattern.regex.removeprefix('^')}\\n[0-9]{{{place}}}([0-9])[0-9]*")
        for name in (*pattern.fields, "number"):
            count += 1
            groups[name] += f"${count}"
    regex = "^(?:" + "|".join(alternatives) + ")"
    rewritten = F.regexp_replace(F.concat(line, F.lit("\n0123456789")), regex, SEPARATOR.join((str(number), *groups.values())))
    # Literals are found much sooner than an expression fails.
    opens = [line.startswith(opening) for opening in dict.fromkeys(pattern.starts for pattern in GROUPS[number] if pattern.starts)]
    held = [holds(line, piece) for piece in dict.fromkeys(pattern.contains for pattern in GROUPS[number] if pattern.contains)]
    return F.when(reduce(or_, opens + held), let(rewritten, lambda text: F.when(text.contains(SEPARATOR), text)))


def _by_trace(line: Column, detail: Column) -> Column:
    told = F.concat(line, F.lit("\n"), F.coalesce(detail, F.lit("")))
    numbers = {pattern.piece: str(number) for number, pattern in enumerate(TRACE_PATTERNS)}
    return F.concat(F.lit(f"{len(GROUPS)}{SEPARATOR}"), of_first_piece(told, numbers), F.lit(SEPARATOR * len(READ_FIELDS)))


def _fields(text: Column) -> Column:
    return F.transform(F.split(text, SEPARATOR), lambda field: F.nullif(field, F.lit("")))


def _typed(read: Column) -> dict[str, Column]:
    """What the line told, typed; ``kind`` and ``implied`` reason of its entry, ``said`` for the reason's text."""
    texts = {name: read[number] for number, name in enumerate(("group", "number", *READ_FIELDS))}
    fields = {name: text.cast("long") if name in INT_FIELDS else text for name, text in texts.items() if name in EVENT_COLUMNS}
    entry = texts["group"].cast("int") * GROUP_SIZE + texts["number"].cast("int") + 1
    millis = F.nullif(texts["trigger_time"].cast("long"), F.lit(0))
    parts = F.split(F.coalesce(texts["execution_id"], F.lit("")), "_")
    number = F.nullif(texts["subtask_number"].cast("long"), F.lit(0))
    return {
        **fields,
        "kind": F.element_at(F.array(*(F.lit(kind) for kind, _ in _ENTRIES)), entry),
        "implied": F.element_at(F.array(*(F.lit(reason or None).cast("string") for _, reason in _ENTRIES)), entry),
        "said": texts["reason_text"],
        "message": first_chars(F.col("line"), MESSAGE_CHARS),
        "is_savepoint": F.lower(texts["checkpoint_type"]).contains("savepoint"),
        "trigger_time": F.timestamp_millis(F.when(millis < LAST_EPOCH_MS, millis)),
        "vertex_id": let(parts, lambda part: F.when(F.size(part) == 4, part[1]).otherwise(texts["vertex_id"])),
        "subtask": let(parts, lambda part: F.when(F.size(part) == 4, part[2].cast("long")).otherwise(number - 1)),
        "attempt": let(parts, lambda part: F.when(F.size(part) == 4, part[3].cast("long")).otherwise(fields["attempt"])),
        "path": F.nullif(F.rtrim(texts["path"], F.lit(".")), F.lit("")),
    }


def _why(kind: Column, implied: Column, detail: Column, said: Column) -> Column:
    words = F.nullif(first_chars(F.coalesce(said, _cause_line(detail)), MESSAGE_CHARS), F.lit(""))
    return let(words, lambda text: F.struct(text.alias("reason_text"), _reason(kind, implied, detail, text).alias("reason")))


def _cause_line(detail: Column) -> Column:
    """See :func:`ingest.flink_logs.recognise.cause_line`."""
    return F.nullif(F.substring_index(F.substring_index(detail, "Caused by: ", -1), "\n", 1), F.lit(""))


def _reason(kind: Column, implied: Column, detail: Column, said: Column) -> Column:
    thrown = F.when(detail.contains(_THROWN), F.substring_index(F.substring_index(detail, _THROWN, -1), "\n", 1))
    sentence = F.regexp_extract(F.coalesce(thrown, said), any_of(REASON_OF_TEXT), 1)
    cause = of_first_piece(detail, CAUSE_OF_PIECE), of_first_piece(said, CAUSE_OF_PIECE)
    codes = {text: reason.code for text, reason in REASON_OF_TEXT.items()}
    return F.coalesce(
        implied,
        F.when(kind.isin(*sorted(CHECKPOINT_FAILURE_KINDS)), of_piece(sentence, codes)),
        F.when(kind.isin(*sorted(FAILURE_KINDS)), F.coalesce(*cause)),
    )


_THROWN = "CheckpointException: "
