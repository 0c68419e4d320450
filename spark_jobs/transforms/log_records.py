"""Raw log text → rows of the lake's ``log_records``, as :mod:`ingest.flink_logs.stitch` makes them, natively.

The text is read with a record's opening as line separator (``\\n20`` for Flink's layout), so a stack trace
arrives in one piece with its record. That is right wherever each piece has a header, which is nearly every
file; a file in which some piece has none (a line of a trace that begins with ``20``) needs :func:`folded`,
which sorts. Hash and keep rule are those of the Python side; a contract test compares the rows.
"""

from collections.abc import Sequence
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ingest.flink_logs.layouts import FLINK, Layout
from ingest.flink_logs.names import SUFFIXES
from ingest.flink_logs.patterns import contained, starts
from ingest.flink_logs.stitch import MAX_RECORD_BYTES, Keep
from spark_jobs.transforms import log_headers, quick_text
from spark_jobs.transforms.binding import let


def line_separator(layout: Layout) -> str:
    """The ``lineSep`` with which text must be read for :func:`segments`."""
    return f"\n{layout.opening}"


def fold_text(text: DataFrame, layout: Layout = FLINK, time_zone: str = "UTC", keep: Keep = "events") -> DataFrame:
    """Log records of raw text (see :func:`segments`), whatever the text holds; sorts each file."""
    return numbered(records(chosen(folded(segments(text, layout), layout), layout, keep), layout, time_zone))


def segments(text: DataFrame, layout: Layout = FLINK) -> DataFrame:
    """Frame of ``value, file, block`` (see :func:`line_separator`) → ``file, block, row, text, head, has_header``.

    ``file`` is Spark's URI; only :func:`chosen` names it as the Python side does, since most pieces go no further.

    ``text`` has its opening again, ``head`` is what of it lies before the message ("" where it does not begin a record).
    ``row`` grows within a block, blocks grow within a file.
    """
    value = F.col("value")
    # Copy-and-truncate rotation may leave a hole at the start of a file.
    filled = F.when(value.startswith("\0"), F.ltrim(value, F.lit("\0"))).otherwise(value)
    raw = text.select("file", "block", F.monotonically_increasing_id().alias("row"), filled.alias("value"))
    restored = F.when(log_headers.keeps_opening(value, layout), value).otherwise(F.concat(F.lit(layout.opening), value))
    return _with_head(raw.select("file", "block", "row", restored.alias("text")), layout)


def _with_head(pieces: DataFrame, layout: Layout) -> DataFrame:
    # Exploding is a barrier: the text is put together and its header is looked for once, not in each expression that uses them.
    parts = let(F.col("text"), lambda text: F.struct(text.alias("text"), log_headers.head_of(text, layout).alias("head")))
    whole = pieces.select("file", "block", "row", F.explode(F.array(parts)).alias("piece")).select("file", "block", "row", "piece.*")
    return whole.withColumn("has_header", F.col("head") != "")


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

    ``local`` is the time as if it were UTC. ``head_bytes`` is null where bytes before the message are no UTF-8. With
    ``headless`` also those without a header, hash and text null: their file needs :func:`folded`.
    """
    head, good = F.col("head"), F.col("has_header")
    wanted = good if keep == "all" else good & is_candidate(F.col("text"), head, layout)
    kept = pieces.where(wanted | ~good) if headless else pieces.where(wanted)
    texts = kept.select(
        file_name(F.col("file")).alias("file"),
        log_headers.local_time(head, layout).alias("local"),
        log_headers.head_bytes(head, layout).alias("head_bytes"),
        F.explode(F.array(F.when(good, cut(F.col("text"))))).alias("text"),
    )
    return texts.select("file", "text", "local", "head_bytes", record_hash(F.col("text")).alias("record_hash"))


def records(kept: DataFrame, layout: Layout = FLINK, time_zone: str = "UTC") -> DataFrame:
    """What :func:`chosen` gives → the columns of ``log_records`` but for ``ordinal``; ``offset`` is not known here."""
    text = F.col("text")
    head = F.coalesce(quick_text.from_byte(text, 1, F.col("head_bytes")), log_headers.head_of(F.make_valid_utf8(text), layout))
    # Exploding is a barrier: the header is taken apart once, not for each column.
    whole = kept.select("file", "local", "record_hash", "text", F.explode(F.array(head)).alias("head"))
    head, message = F.col("head"), let(F.make_valid_utf8(log_headers.message_of(text, F.col("head"), layout)), _without_crlf)
    return whole.select(
        process(F.col("file")).alias("process"),
        log_headers.utc(F.col("local"), layout.zone or time_zone).alias("ts"),
        log_headers.level_of(head, layout).alias("level"),
        _without_nul(log_headers.logger_of(head, layout)).alias("logger"),
        let(message, _without_nul).alias("message"),
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
        local = F.when(name.startswith("file:///"), quick_text.from_byte(name, 8)).when(
            name.startswith("file:/"), quick_text.from_byte(name, 6)
        )
        return local.when(name.startswith("s3a://"), F.concat(F.lit("s3://"), quick_text.from_byte(name, 7))).otherwise(name)

    return let(decoded, plain)


def record_hash(text: Column) -> Column:
    return quick_text.from_byte(F.sha2(text.cast("binary"), 256), 1, 32)


def cut(text: Column) -> Column:
    """Without trailing line ends, and at most as long as a record may be."""
    short = F.when(F.octet_length(text) > MAX_RECORD_BYTES, quick_text.from_byte(text, 1, MAX_RECORD_BYTES))
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

    def is_read(message: Column) -> Column:
        held = let(quick_text.first_line(message), lambda line: reduce(or_, (quick_text.holds(line, piece) for piece in contained())))
        return _opens(message) | held

    return log_headers.is_kept_level(head, layout) | let(log_headers.message_of(text, head, layout), is_read)


def _opens(message: Column) -> Column:
    """Whether an opening of the table begins the message. Most are one whole word or two: those are looked up in a set."""
    whole = {words: [text for text in starts() if text.endswith(" ") and text.count(" ") == words] for words in (1, 2)}
    rest = [text for text in starts() if text not in whole[1] + whole[2]]
    first_words = sorted({text.split(" ")[0] for text in rest})
    of_rest = F.substring_index(message, " ", 1).isin(*first_words) & message.rlike(f"^(?:{'|'.join(map(log_headers.escaped, rest))})")
    return reduce(or_, (_begins(message, words, openings) for words, openings in whole.items())) | of_rest


def _begins(message: Column, words: int, openings: Sequence[str]) -> Column:
    known = [opening.removesuffix(" ") for opening in openings]
    begin = F.substring_index(message, " ", words)
    return let(begin, lambda text: text.isin(*known) & (F.octet_length(text) < F.octet_length(message)))


def _without_crlf(message: Column) -> Column:
    return quick_text.replaced(message, "\r\n", "\n")


def _without_nul(text: Column) -> Column:
    return quick_text.replaced(text, "\0", log_headers.REPLACEMENT)
