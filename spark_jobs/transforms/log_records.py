"""Raw log text → rows of the lake's ``log_records``, as :mod:`ingest.flink_logs.stitch` makes them, natively.

The text is read with a record's opening as line separator (``\\n20`` for Flink's layout), so a stack trace
arrives in one piece with its record. That is right wherever each piece has a header, which is nearly every
file; a file in which some piece has none (a line of a trace that begins with ``20``) needs :func:`folded`,
which sorts. Hash and keep rule are those of the Python side; a contract test compares the rows.
"""

import re
from functools import reduce
from operator import or_
from zoneinfo import ZoneInfo

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ingest.flink_logs.layouts import FLINK, Layout
from ingest.flink_logs.names import SUFFIXES
from ingest.flink_logs.patterns import KEPT_LEVELS, contained, starts
from ingest.flink_logs.stitch import MAX_RECORD_BYTES, Keep
from spark_jobs.transforms.binding import let

OPENING_BYTES = 128
"""Longer than any opening of a relevant message."""


def line_separator(layout: Layout) -> str:
    """The ``lineSep`` with which text must be read for :func:`segments`."""
    return f"\n{layout.opening}"


def fold_text(text: DataFrame, layout: Layout = FLINK, time_zone: str = "UTC", keep: Keep = "events") -> DataFrame:
    """Log records of raw text (see :func:`segments`), whatever the text holds; sorts each file."""
    return numbered(records(chosen(folded(segments(text, layout), layout), layout, keep), layout, time_zone))


def segments(text: DataFrame, layout: Layout = FLINK) -> DataFrame:
    """Frame of ``value, file, block`` (see :func:`line_separator`) → ``file, block, row, text, has_header``.

    ``text`` has its opening again. ``row`` grows within a block, blocks grow within a file.
    """
    value = F.col("value")
    # Copy-and-truncate rotation may leave a hole at the start of a file.
    filled = F.when(value.startswith("\0"), F.ltrim(value, F.lit("\0"))).otherwise(value)
    raw = text.select("file", "block", F.monotonically_increasing_id().alias("row"), filled.alias("value"))
    restored = F.when(_is_first_of_file(layout), F.col("value")).otherwise(F.concat(F.lit(layout.opening), F.col("value")))
    # Exploding is a barrier: the text is put together once, not in each expression that uses it.
    whole = raw.select("file", "block", "row", F.explode(F.array(restored)).alias("text"))
    return whole.withColumn("has_header", F.coalesce(has_header(F.col("text"), layout), F.lit(False)))


def folded(pieces: DataFrame, layout: Layout = FLINK) -> DataFrame:
    """Pieces without a header joined to the record before them; those before the first header are dropped."""
    in_order = Window.partitionBy("file").orderBy("block", "row")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = pieces.withColumn("record", F.sum(F.col("has_header").cast("long")).over(so_far)).where("record > 0")
    piece = F.struct("block", "row", "text")
    joined = counted.groupBy("file", "record").agg(F.sort_array(F.collect_list(piece)).alias("pieces"))
    text = F.array_join(F.col("pieces.text"), "\n")
    first = F.col("pieces")[0]
    return joined.select("file", first.block.alias("block"), first.row.alias("row"), text.alias("text"), F.lit(True).alias("has_header"))


def chosen(pieces: DataFrame, layout: Layout = FLINK, keep: Keep = "events", *, headless: bool = False) -> DataFrame:
    """Pieces worth keeping, cut and hashed: ``file, text, record_hash``.

    With ``headless`` also those without a header, hash and text null: their file needs :func:`folded`.
    """
    good = F.col("has_header")
    wanted = good if keep == "all" else good & is_candidate(F.col("text"), layout)
    kept = pieces.where(wanted | ~good) if headless else pieces.where(wanted)
    texts = kept.select("file", F.when(F.col("has_header"), cut(F.col("text"))).alias("text"))
    return texts.withColumn("record_hash", record_hash(F.col("text")))


def records(kept: DataFrame, layout: Layout = FLINK, time_zone: str = "UTC") -> DataFrame:
    """``file, text, record_hash`` → the columns of ``log_records`` but for ``ordinal``; ``offset`` is not known here."""
    text = F.col("text")
    valid = F.when(F.is_valid_utf8(text), text).otherwise(F.make_valid_utf8(text))
    head = let(valid, lambda piece: header(piece, layout))
    # Exploding is a barrier: the header is taken apart once, not for each column.
    parsed = kept.select("file", "record_hash", F.explode(F.array(head)).alias("head"))
    return parsed.select(
        process(F.col("file")).alias("process"),
        _utc(F.col("head.local"), layout.zone or time_zone).alias("ts"),
        F.col("head.level").alias("level"),
        _without_nul(F.col("head.logger")).alias("logger"),
        _without_nul(F.replace(F.col("head.message"), F.lit("\r\n"), F.lit("\n"))).alias("message"),
        "record_hash",
        "file",
        F.lit(None).cast("long").alias("offset"),
    )


def numbered(rows: DataFrame) -> DataFrame:
    """``ordinal`` among equal records of one file. Equal ones are interchangeable, so their order does not matter."""
    alike = Window.partitionBy("file", "ts", "record_hash").orderBy("process")
    return rows.withColumn("ordinal", F.row_number().over(alike).cast("long") - 1)


def file_name(uri: Column) -> Column:
    """Spark's URI of a file as the Python side names it: a plain path where it is local."""
    decoded = F.url_decode(F.replace(uri, F.lit("+"), F.lit("%2B")))
    return F.regexp_replace(F.regexp_replace(decoded, "^file:(//)?(?=/)", ""), "^s3a://", "s3://")


def record_hash(text: Column) -> Column:
    return F.substring(F.sha2(text.cast("binary"), 256), 1, 32)


def cut(text: Column) -> Column:
    """Without trailing line ends, and at most as long as a record may be."""
    short = F.when(F.octet_length(text) > MAX_RECORD_BYTES, F.substring(text.cast("binary"), 1, MAX_RECORD_BYTES).cast("string"))
    return F.rtrim(F.coalesce(short, text), F.lit("\r\n"))


def process(file: Column) -> Column:
    """See :func:`ingest.flink_logs.names.process_of`."""
    name = F.substring_index(file, "/", -1)
    shortened = reduce(lambda left, suffix: F.regexp_replace(left, suffix, ""), SUFFIXES, name)
    plain = name.endswith(".log") & ~name.rlike("[0-9]{4}-?[0-9]{2}-?[0-9]{2}")
    return F.when(plain | (shortened == ""), name).otherwise(shortened)


def has_header(text: Column, layout: Layout = FLINK) -> Column:
    """Whether a piece begins a record."""
    return text.rlike(_whole_header(layout)) & _local(text, layout).isNotNull()


def header(text: Column, layout: Layout = FLINK) -> Column:
    """Struct of ``local`` time (as if it were UTC), ``level``, ``logger`` and ``message`` of a piece that has a header."""
    regex = _whole_header(layout)
    level, logger = layout.group("level"), layout.group("logger")

    def parts(head: Column) -> Column:
        if layout is FLINK:
            # The level begins at character 25 and has four or five.
            level_text = F.substring_index(F.substring(head, 25, 6), " ", 1)
            logger_text = F.substring_index(F.ltrim(F.substring(head, 30, MAX_RECORD_BYTES)), " ", 1)
        else:
            level_text = F.regexp_extract(head, regex, level) if level else F.lit("UNKNOWN")
            logger_text = F.regexp_extract(head, regex, logger) if logger else F.lit("")
        values = {"local": _local(text, layout), "level": level_text, "logger": logger_text, "message": _behind(text, head)}
        return F.struct(*(value.alias(name) for name, value in values.items()))

    return let(F.regexp_extract(text, regex, 0), parts)


def is_candidate(text: Column, layout: Layout = FLINK) -> Column:
    """See :func:`ingest.flink_logs.recognise.is_candidate`: what the table may read, and everything from WARN up."""
    regex = _whole_header(layout)
    holds = regex + r"[^\n]*?(?:" + "|".join(_escaped(piece) for piece in contained()) + ")"
    words = sorted({opening.split(" ")[0] for opening in starts()})
    opens = "^(?:" + "|".join(_escaped(opening) for opening in starts()) + ")"

    def begins(message: Column) -> Column:
        # A set of words is one lookup; the exact openings are compared only where the first word fits.
        return F.substring_index(message, " ", 1).isin(*words) & message.rlike(opens)

    def opening(head: Column) -> Column:
        return F.substring(text.cast("binary"), F.octet_length(head) + 1, F.lit(OPENING_BYTES)).cast("string")

    # Looking for a piece anywhere is quick and nearly always vain; only then its place in the first line matters.
    any_piece = reduce(or_, (text.contains(piece) for piece in contained()))
    by_opening = let(opening(F.regexp_extract(text, regex, 0)), begins)
    return _is_kept_level(text, layout) | by_opening | (any_piece & text.rlike(holds))


def _behind(text: Column, head: Column) -> Column:
    # By bytes: what is not UTF-8 must not shift anything.
    return F.substring(text.cast("binary"), F.octet_length(head) + 1, F.octet_length(text)).cast("string")


def _is_kept_level(text: Column, layout: Layout) -> Column:
    number = layout.group("level")
    if layout is FLINK:
        return reduce(lambda any_of, level: any_of | (F.substring(text, 25, len(level)) == level), KEPT_LEVELS, F.lit(False))
    return F.regexp_extract(text, _whole_header(layout), number).isin(*KEPT_LEVELS) if number else F.lit(False)


def _without_nul(text: Column) -> Column:
    return F.replace(text, F.lit("\0"), F.lit("\ufffd"))


def _local(text: Column, layout: Layout) -> Column:
    """The printed time as if it were UTC; null where it is no valid time."""
    if layout is FLINK:
        stamp = F.concat(F.substring(text, 1, 19), F.lit("."), F.substring(text, 21, 3), F.lit("Z"))
        return stamp.try_cast("timestamp")
    regex = _whole_header(layout)
    place = {part: f"${number}" for number, part in enumerate(layout.second_parts, 1)}
    century = "20" if layout.opening.endswith("20") or "([0-9]{4})" not in layout.second_regex else ""
    pattern = f"{century}{place['y']}-{place['M']}-{place['d']} {place['H']}:{place['m']}:{place['s']}"
    second = F.regexp_replace(F.regexp_extract(text, regex, layout.group("second")), f"^{layout.second_regex}$", pattern)
    fraction = layout.group("fraction")
    digits = F.rpad(F.regexp_extract(text, regex, fraction), 3, "0") if fraction else F.lit("000")
    return F.concat(second, F.lit("."), F.substring(digits, 1, 3), F.lit("Z")).try_cast("timestamp")


def _utc(local: Column, zone: str) -> Column:
    return local if ZoneInfo(zone).key == "UTC" else F.to_utc_timestamp(local, zone)


def _is_first_of_file(layout: Layout) -> Column:
    """Only the first piece of a file still has its opening."""
    if not layout.opening:
        return F.lit(True)
    if layout is FLINK:
        return F.col("value").startswith("20") & (F.substring("value", 5, 1) == "-")
    return F.col("value").rlike(_whole_header(layout))


def _whole_header(layout: Layout) -> str:
    return "^" + _escaped(layout.opening) + layout.header.removeprefix("^")


def _escaped(text: str) -> str:
    return re.sub(r"[][\\.^$*+?{}|()]", r"\\\g<0>", text)
