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
from spark_jobs.transforms import quick_text
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
    """Frame of ``value, file, block`` (see :func:`line_separator`) → ``file, block, row, text, head, local, has_header``.

    ``file`` is Spark's URI; only :func:`chosen` names it as the Python side does, since most pieces go no further.

    ``text`` has its opening again, ``head`` is what of it lies before the message and ``local`` the time in it, as if it were UTC
    ("" and null where it does not begin a record). ``row`` grows within a block, blocks grow within a file.
    """
    value = F.col("value")
    # Copy-and-truncate rotation may leave a hole at the start of a file.
    filled = F.when(value.startswith("\0"), F.ltrim(value, F.lit("\0"))).otherwise(value)
    raw = text.select("file", "block", F.monotonically_increasing_id().alias("row"), filled.alias("value"))
    restored = F.when(_is_first_of_file(layout), F.col("value")).otherwise(F.concat(F.lit(layout.opening), F.col("value")))
    return _with_head(raw.select("file", "block", "row", restored.alias("text")), layout)


def _with_head(pieces: DataFrame, layout: Layout) -> DataFrame:
    # Exploding is a barrier: the text is put together and its header is looked for once, not in each expression that uses them.
    def parts(text: Column) -> Column:
        return let(_head(text, layout), lambda head: F.struct(text.alias("text"), head.alias("head"), _local(head, layout).alias("local")))

    piece = F.explode(F.array(let(F.col("text"), parts))).alias("piece")
    whole = pieces.select("file", "block", "row", piece).select("file", "block", "row", "piece.*")
    return whole.withColumn("has_header", (F.col("head") != "") & F.col("local").isNotNull())


def folded(pieces: DataFrame, layout: Layout = FLINK) -> DataFrame:
    """Pieces without a header joined to the record before them; those before the first header are dropped."""
    in_order = Window.partitionBy("file").orderBy("block", "row")
    so_far = in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    counted = pieces.withColumn("record", F.sum(F.col("has_header").cast("long")).over(so_far)).where("record > 0")
    piece = F.struct("block", "row", "text")
    joined = counted.groupBy("file", "record").agg(F.sort_array(F.collect_list(piece)).alias("pieces"))
    text = F.array_join(F.col("pieces.text"), "\n")
    first = F.col("pieces")[0]
    return _with_head(joined.select("file", first.block.alias("block"), first.row.alias("row"), text.alias("text")), layout)


def chosen(pieces: DataFrame, layout: Layout = FLINK, keep: Keep = "events", *, headless: bool = False) -> DataFrame:
    """Pieces worth keeping, cut and hashed: ``file, text, local, head_bytes, record_hash``.

    ``head_bytes`` is null where the text is not plain UTF-8. With ``headless`` also those without a header, hash and
    text null: their file needs :func:`folded`.
    """
    good = F.col("has_header")
    wanted = good if keep == "all" else good & is_candidate(F.col("text"), F.col("head"), layout)
    kept = pieces.where(wanted | ~good) if headless else pieces.where(wanted)
    texts = kept.select(
        file_name(F.col("file")).alias("file"),
        "head",
        "local",
        F.explode(F.array(F.when(F.col("has_header"), cut(F.col("text"))))).alias("text"),
    )
    head_bytes = F.octet_length("head")
    sure = F.is_valid_utf8("text") & (head_bytes <= F.octet_length("text"))
    return texts.select(
        "file", "text", "local", F.when(sure, head_bytes).alias("head_bytes"), record_hash(F.col("text")).alias("record_hash")
    )


def records(kept: DataFrame, layout: Layout = FLINK, time_zone: str = "UTC") -> DataFrame:
    """What :func:`chosen` gives → the columns of ``log_records`` but for ``ordinal``; ``offset`` is not known here."""
    text, head_bytes = F.col("text"), F.col("head_bytes")
    plain = let(quick_text.from_byte(text, 1, head_bytes), lambda head: _parts(text, head, layout))
    torn = let(F.make_valid_utf8(text), lambda whole: let(_head(whole, layout), lambda head: _parts(whole, head, layout)))
    # Exploding is a barrier: the header is taken apart once, not for each column.
    parsed = kept.select(
        "file", "local", "record_hash", F.explode(F.array(F.when(head_bytes.isNotNull(), plain).otherwise(torn))).alias("part")
    )
    return parsed.select(
        process(F.col("file")).alias("process"),
        _utc(F.col("local"), layout.zone or time_zone).alias("ts"),
        F.col("part.level").alias("level"),
        _without_nul(F.col("part.logger")).alias("logger"),
        _without_nul(quick_text.replaced(F.col("part.message"), "\r\n", "\n")).alias("message"),
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
    decoded = F.when(uri.contains("%"), F.url_decode(F.replace(uri, F.lit("+"), F.lit("%2B")))).otherwise(uri)

    def plain(name: Column) -> Column:
        local = F.when(name.startswith("file:///"), F.substring(name, 8, _WHOLE)).when(
            name.startswith("file:/"), F.substring(name, 6, _WHOLE)
        )
        return local.when(name.startswith("s3a://"), F.concat(F.lit("s3://"), F.substring(name, 7, _WHOLE))).otherwise(name)

    return let(decoded, plain)


_WHOLE = 1 << 30


def record_hash(text: Column) -> Column:
    return F.substring(F.sha2(text.cast("binary"), 256), 1, 32)


def cut(text: Column) -> Column:
    """Without trailing line ends, and at most as long as a record may be."""
    short = F.when(F.octet_length(text) > MAX_RECORD_BYTES, F.substring(text.cast("binary"), 1, MAX_RECORD_BYTES).cast("string"))
    return quick_text.trimmed_end(F.coalesce(short, text), "\r\n")


def process(file: Column) -> Column:
    """See :func:`ingest.flink_logs.names.process_of`."""

    def shortened(name: Column) -> Column:
        return reduce(lambda left, suffix: F.regexp_replace(left, suffix, ""), SUFFIXES, name)

    def named(name: Column) -> Column:
        plain = name.endswith(".log") & ~name.rlike("[0-9]{4}-?[0-9]{2}-?[0-9]{2}")
        return F.when(plain, name).otherwise(F.coalesce(F.nullif(shortened(name), F.lit("")), name))

    return let(F.substring_index(file, "/", -1), named)


def is_candidate(text: Column, head: Column, layout: Layout = FLINK) -> Column:
    """See :func:`ingest.flink_logs.recognise.is_candidate`: what the table may read, and everything from WARN up."""
    words = sorted({opening.split(" ")[0] for opening in starts()})
    opens = "(?:" + "|".join(_escaped(opening) for opening in starts()) + ")"
    holds = "(?:" + "|".join(_escaped(piece) for piece in contained()) + ")"

    def is_read(line: Column) -> Column:
        # A set of words is one lookup; the exact openings are compared only where the first word fits.
        begins = F.substring_index(line, " ", 1).isin(*words) & line.rlike(f"^{opens}")
        return begins | reduce(or_, (quick_text.holds(line, piece) for piece in contained()))

    line = quick_text.from_byte(quick_text.first_line(text), F.octet_length(head) + 1)
    # Where a byte of the header is no UTF-8, its length is not that of the text it was read from.
    by_regex = text.rlike(f"{_whole_header(layout)}(?:{opens}|[^\n]*?{holds})")
    return _is_kept_level(head, layout) | F.when(head.contains(_REPLACEMENT), by_regex).otherwise(let(line, is_read))


_REPLACEMENT = "\ufffd"


def _head(text: Column, layout: Layout) -> Column:
    """What lies before the message; "" where a text does not begin a record. The first line decides, however long the trace."""
    return F.regexp_extract(quick_text.first_line(text), _whole_header(layout), 0)


def _parts(text: Column, head: Column, layout: Layout) -> Column:
    """Struct of ``level``, ``logger`` and ``message`` of a text and its header."""
    regex = _whole_header(layout)
    level, logger = layout.group("level"), layout.group("logger")
    if layout is FLINK:
        # The level begins at character 25 and has four or five.
        level_text = F.substring_index(F.substring(head, 25, 6), " ", 1)
        logger_text = F.substring_index(F.ltrim(F.substring(head, 30, MAX_RECORD_BYTES)), " ", 1)
    else:
        level_text = F.regexp_extract(head, regex, level) if level else F.lit("UNKNOWN")
        logger_text = F.regexp_extract(head, regex, logger) if logger else F.lit("")
    message = quick_text.from_byte(text, F.octet_length(head) + 1)
    values = {"level": level_text, "logger": logger_text, "message": message}
    return F.struct(*(value.alias(name) for name, value in values.items()))


def _is_kept_level(head: Column, layout: Layout) -> Column:
    number = layout.group("level")
    if layout is FLINK:
        return F.substring(head, 25, 4).isin(*(level[:4] for level in KEPT_LEVELS))
    return F.regexp_extract(head, _whole_header(layout), number).isin(*KEPT_LEVELS) if number else F.lit(False)


def _without_nul(text: Column) -> Column:
    return quick_text.replaced(text, "\0", _REPLACEMENT)


def _local(head: Column, layout: Layout) -> Column:
    """The printed time as if it were UTC; null where it is no valid time."""
    if layout is FLINK:
        stamp = F.concat(F.substring(head, 1, 19), F.lit("."), F.substring(head, 21, 3), F.lit("Z"))
        return stamp.try_cast("timestamp")
    regex = _whole_header(layout)
    place = {part: f"${number}" for number, part in enumerate(layout.second_parts, 1)}
    century = "20" if layout.opening.endswith("20") or "([0-9]{4})" not in layout.second_regex else ""
    pattern = f"{century}{place['y']}-{place['M']}-{place['d']} {place['H']}:{place['m']}:{place['s']}"
    second = F.regexp_replace(F.regexp_extract(head, regex, layout.group("second")), f"^{layout.second_regex}$", pattern)
    fraction = layout.group("fraction")
    digits = F.rpad(F.regexp_extract(head, regex, fraction), 3, "0") if fraction else F.lit("000")
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
