"""Log records → typed events by the pattern table, as :mod:`ingest.flink_logs.recognise` reads them, natively.

Each entry of the table becomes one ``when``: its literal, then its expression, which rewrites the line into
the event's fields separated by a control character. So a line is matched once, whatever its fields.
"""

from collections.abc import Iterable
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.flink_logs.patterns import KEPT_LEVELS, PATTERNS, READ_CHARS, TRACE_PATTERNS, Pattern
from ingest.flink_logs.reasons import FAILURE_CAUSES, REASONS
from ingest.flink_logs.recognise import CHECKPOINT_FAILURE_KINDS, DETAIL_CHARS, FAILURE_KINDS, INT_FIELDS, LAST_EPOCH_MS, MESSAGE_CHARS
from spark_jobs.serving import LOG_EVENT
from spark_jobs.transforms.binding import let
from spark_jobs.transforms.contract import serving_rows
from spark_jobs.transforms.replays import newest_by

SEPARATOR = "\x01"
"""Between the fields of a rewritten line; a log line that holds one is read without it."""

READ_FIELDS: tuple[str, ...] = tuple(dict.fromkeys(name for pattern in PATTERNS for name in pattern.fields))
"""Everything the table reads, in a fixed order; position n + 2 of a rewritten line, behind kind and reason."""

RECORD_COLUMNS = ("cluster", "observed_at", "process", "ts", "level", "record_hash", "ordinal", "file", "offset")
EVENT_COLUMNS = (
    "kind", *RECORD_COLUMNS, "job_id", "job_name", "checkpoint_id", "checkpoint_type", "is_savepoint", "trigger_time",
    "execution_id", "vertex_id", "task", "subtask", "parallelism", "attempt", "container", "host", "from_state", "to_state",
    "reason", "reason_text", "state_bytes", "duration_ms", "path", "count", "message", "detail",
)  # fmt: skip
_REST = ("job_name", "checkpoint_type", "is_savepoint", "trigger_time", "parallelism", "from_state", "to_state", "reason_text",
         "state_bytes", "duration_ms", "path", "count")  # fmt: skip
_AS_READ = ("job_id", "job_name", "checkpoint_type", "execution_id", "task", "container", "host", "from_state", "to_state")


def events(log_records: DataFrame) -> DataFrame:
    """One row per event (``EVENT_COLUMNS``), records that the lake holds more than once folded."""
    return newest_by(recognised(log_records), LOG_EVENT.key, ("observed_at",))


def recognised(log_records: DataFrame) -> DataFrame:
    """The same without folding: a map over the records, nothing is sorted or sent around."""
    line = F.substring_index("message", "\n", 1)
    cut = F.col("message").contains("\n")
    detail = F.when(cut, F.substring(F.col("message"), F.length(line) + 2, F.lit(DETAIL_CHARS)))
    lines = log_records.select(*RECORD_COLUMNS, line.alias("line"), F.nullif(detail, F.lit("")).alias("detail"))
    # An array of one element, so that a line without an event gives no row and the rewriting is done once per line.
    read = F.filter(F.array(_rewritten(F.col("line"), F.col("level"), F.col("detail"))), lambda text: text.isNotNull())
    split = lines.select("*", F.explode(read).alias("read")).withColumn("read", F.split("read", SEPARATOR))
    return _typed(split)


def serving(located: DataFrame) -> DataFrame:
    """Located events → rows of the serving table ``log_event``."""
    change = F.concat_ws(" -> ", "from_state", "to_state")
    rest = F.struct(*(F.col(name) for name in _REST))
    rows = located.withColumns(
        {
            "fields": F.to_json(rest, {"ignoreNullFields": "true"}),
            "reason": F.coalesce("reason", F.nullif(change, F.lit(""))),
            "vertex_name": F.col("task"),
            "as_of": F.col("observed_at"),
        }
    )
    return serving_rows(rows, LOG_EVENT)


def _rewritten(line: Column, level: Column, detail: Column) -> Column:
    """``kind, reason, fields…`` as one text, or null."""
    readable = F.translate(F.substring(line, 1, READ_CHARS), SEPARATOR, "")
    by_line = let(readable, lambda text: F.coalesce(*(_by_pattern(text, pattern) for pattern in PATTERNS)))
    told = F.concat(line, F.lit("\n"), F.coalesce(detail, F.lit("")))
    traces = [(entry.piece, _rewriting(entry.kind, entry.reason)) for entry in TRACE_PATTERNS]
    by_trace = let(told, lambda text: F.coalesce(*(F.when(text.contains(piece), F.lit(event)) for piece, event in traces)))
    return F.coalesce(by_line, F.when(level.isin(*KEPT_LEVELS), by_trace))


def _by_pattern(line: Column, pattern: Pattern) -> Column:
    fits = line.startswith(pattern.starts) if pattern.starts else line.contains(pattern.contains)
    groups = dict.fromkeys(READ_FIELDS, "")
    for number, name in enumerate(pattern.fields, 1):
        groups[name] += f"${number}"
    rewriting = _rewriting(pattern.kind, pattern.reason, groups.values())
    return F.when(fits & line.rlike(pattern.regex), F.regexp_replace(line, pattern.regex, rewriting))


def _rewriting(kind: str, reason: str, groups: Iterable[str] = ("",) * len(READ_FIELDS)) -> str:
    return SEPARATOR.join((kind, reason, *groups))


def _typed(split: DataFrame) -> DataFrame:
    read = {name: F.nullif(F.col("read")[number], F.lit("")) for number, name in enumerate(("kind", "implied", *READ_FIELDS))}
    raw = split.select(
        *RECORD_COLUMNS,
        F.substring("line", 1, MESSAGE_CHARS).alias("message"),
        "detail",
        *(text.cast("long").alias(name) if name in INT_FIELDS else text.alias(f"read_{name}") for name, text in read.items()),
    )
    execution = F.split("read_execution_id", "_")
    parts = F.when(F.size(execution) == 4, execution)
    millis = F.nullif(F.col("read_trigger_time").cast("long"), F.lit(0))
    typed = raw.withColumns(
        {
            "kind": F.col("read_kind"),
            **{name: F.col(f"read_{name}") for name in _AS_READ},
            "is_savepoint": F.lower("read_checkpoint_type").contains("savepoint"),
            "trigger_time": F.timestamp_millis(F.when(millis < LAST_EPOCH_MS, millis)),
            "vertex_id": F.coalesce(parts[1], F.col("read_vertex_id")),
            "subtask": F.coalesce(parts[2].cast("long"), F.nullif("subtask_number", F.lit(0)) - 1),
            "attempt": F.coalesce(parts[3].cast("long"), "attempt"),
            "path": F.nullif(F.rtrim("read_path", F.lit(".")), F.lit("")),
            "reason_text": F.nullif(F.substring(F.coalesce("read_reason_text", _cause_line(F.col("detail"))), 1, MESSAGE_CHARS), F.lit("")),
        }
    )
    return typed.withColumn("reason", _reason()).select(*EVENT_COLUMNS)


def _cause_line(detail: Column) -> Column:
    """See :func:`ingest.flink_logs.recognise.cause_line`."""
    return F.nullif(F.substring_index(F.substring_index(detail, "Caused by: ", -1), "\n", 1), F.lit(""))


def _reason() -> Column:
    kind, detail = F.col("kind"), F.col("detail")
    thrown = F.when(detail.contains(_THROWN), F.substring_index(F.substring_index(detail, _THROWN, -1), "\n", 1))
    sentence = F.coalesce(thrown, "reason_text")
    cause = F.coalesce(*(_code_in(text, [(piece, code) for code, piece in FAILURE_CAUSES]) for text in (detail, F.col("reason_text"))))
    return F.coalesce(
        "read_implied",
        F.when(kind.isin(*sorted(CHECKPOINT_FAILURE_KINDS)), _code_in(sentence, [(reason.text, reason.code) for reason in REASONS])),
        F.when(kind.isin(*sorted(FAILURE_KINDS)), cause),
    )


_THROWN = "CheckpointException: "


def _code_in(text: Column, codes: list[tuple[str, str]]) -> Column:
    """Code of the first piece that ``text`` holds."""

    def code_of(said: Column) -> Column:
        return reduce(lambda rest, code: F.when(said.contains(code[0]), code[1]).otherwise(rest), codes[::-1], F.lit(None))

    return let(text, code_of)
