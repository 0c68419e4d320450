"""Each expression and relation that audits are written with means in one process what it means to Spark, for any rows."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql import types as T

from spark_jobs.in_process.session import in_process_session
from spark_jobs.in_process.values import Unsupported, spark_type
from spark_jobs.storage.layout_columns import directory_of, is_below, with_job_directory, with_places

_WHEN = pa.timestamp("us", tz="UTC")
_ENDED = pa.list_(pa.struct([("number", pa.int64()), ("done", pa.bool_()), ("at", _WHEN), ("why", pa.string())]))
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("text", "other")), *((name, pa.int64()) for name in ("n", "m")), ("few", pa.int32()),
        ("flag", pa.bool_()), ("at", _WHEN), ("words", pa.list_(pa.string())), ("ended", _ENDED), ("share", pa.float64()),
    ]
)  # fmt: skip

JOB, UUID = "0" * 31 + "a", "01234567-89ab-cdef-0123-456789abcdef"
PATHS = [
    f"s3://b/{JOB}/chk-12/_metadata", f"s3://b/{JOB}/chk-99999999999999999999/{UUID}", f"file:/r/{JOB}/shared/{UUID}",
    f"/{JOB}/taskowned/{UUID}",
    f"hdfs://n/{JOB}/dstl/{UUID}", f"/r/{JOB}/shared/job_{JOB}_op_x_1_2/{UUID}", f"/r/{JOB}/taskowned/job_{JOB}_tm_y/{UUID}",
    "/r/savepoint-00000a-0123456789ab/x", "/chk-3/x", f"/r/{JOB}/shared/{UUID}\n", f"/ä/{JOB}/shared/{UUID}", f"/r/{JOB}/other\u2028",
]  # fmt: skip
_characters = st.characters(codec="utf-8", exclude_characters="\0")
texts = st.one_of(
    st.none(),
    st.sampled_from(PATHS),
    st.text(st.sampled_from("/ab-:.A1\n\r\u0085\u2028äß😀"), max_size=12),
    st.text(_characters, max_size=8),
)
small = st.integers(-3, 9)
numbers = st.one_of(st.none(), small, st.integers(-(2**40), 2**40))
instants = st.one_of(st.none(), st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001 - the zone is given
flags = st.one_of(st.none(), st.booleans())
ended = st.fixed_dictionaries({"number": numbers, "done": flags, "at": instants, "why": texts})
rows = st.lists(
    st.fixed_dictionaries(
        {
            "text": texts, "other": texts, "n": numbers, "m": numbers, "few": st.one_of(st.none(), small), "flag": flags, "at": instants,
            "words": st.one_of(st.none(), st.lists(texts, max_size=3)), "ended": st.one_of(st.none(), st.lists(ended, max_size=3)),
            "share": st.one_of(st.none(), st.floats(0, 1e6)),
        }
    ),
    min_size=1,
    max_size=60,
)  # fmt: skip


def col(name: str) -> Column:
    return F.col(name)


SCALARS: dict[str, Callable[[], Column]] = {
    "eq": lambda: col("text") == col("other"),
    "less": lambda: col("text") < col("other"),
    "texts in order": lambda: (col("text") >= col("other")) | (col("n") <= col("m")),
    "null-safe": lambda: col("text").eqNullSafe(col("other")),
    "and": lambda: col("flag") & (col("n") > 0),
    "or not": lambda: ~col("flag") | (col("n") != col("m")),
    "in": lambda: col("few").isin(1, 2, 3),
    "when": lambda: F.when(col("flag"), col("n")).when(col("n") > 3, col("few")).otherwise(F.lit(None)),
    "coalesce": lambda: F.coalesce("text", "other", F.lit("-")),
    "nullif": lambda: F.nullif(col("text"), col("other")),
    "greatest": lambda: F.greatest("n", "m", "few"),
    "least": lambda: F.least("text", "other"),
    "sums": lambda: col("n") + col("few") * 2 - col("m"),
    "spans": lambda: col("at") - F.make_dt_interval(hours=col("few")) + F.make_dt_interval(secs=F.lit(5)),
    "later": lambda: (col("at") > F.lit("2001-01-01 00:00:00").cast("timestamp")) & (col("at") < F.lit(datetime(2030, 1, 1, tzinfo=UTC))),
    "truncated": lambda: F.date_trunc("MILLISECOND", col("at")),
    "power": lambda: F.pow(F.lit(2), col("few")).cast("double"),
    "bin": lambda: F.length(F.bin(col("n"))),
    "rlike": lambda: col("text").rlike("^(/|[A-Za-z][A-Za-z0-9+.-]*:)"),
    "rlike to the end": lambda: col("text").rlike("^.a?.$"),
    "extract": lambda: F.regexp_extract("text", "/(?:savepoint-([0-9a-f]{6})|(.+))(?:/|$)", 1),
    "extract any": lambda: F.regexp_extract("text", r"^([\s\S]*)/.", 1),
    "replace": lambda: F.regexp_replace("text", "/_metadata$", ""),
    "literals": lambda: col("text").contains("/") & col("text").startswith("/") & ~col("text").endswith("a"),
    "below": lambda: is_below(col("text"), col("other")),
    "substring": lambda: F.substring(col("text"), col("few"), F.lit(3)),
    "substring of bytes": lambda: F.substring(col("text").cast("binary"), col("few"), col("few")),
    "index": lambda: F.substring_index("text", "/", -2),
    "index from start": lambda: F.substring_index("text", "/", 1),
    "trim": lambda: F.rtrim("text", F.lit("/")),
    "lower": lambda: F.lower("text"),
    "pad": lambda: F.lpad(col("few").cast("string"), 3, "0"),
    "lengths": lambda: F.length("text") + F.octet_length("text"),
    "concat": lambda: F.concat("text", F.lit("|"), "other"),
    "format": lambda: F.format_string("%s has %d", "text", "n"),
    "casts": lambda: F.concat(col("n").cast("string"), F.lit(" "), col("few").cast("bigint").cast("string")),
    "tried casts": lambda: F.coalesce(col("text").try_cast("bigint"), col("n").try_cast("int"), F.lit("12").try_cast("bigint")),
    "array": lambda: F.array("n", "few"),
    "contains": lambda: F.array_contains("words", col("text")),
    "distinct": lambda: F.sort_array(F.array_distinct("words")),
    "flatten": lambda: F.flatten(F.array("words", "words")),
    "size": lambda: F.size("ended"),
    "slice": lambda: F.slice("words", 1, 2),
    "get": lambda: F.get("words", col("few")),
    "filter": lambda: F.filter("ended", lambda end: ~F.coalesce(end.done, F.lit(True)) & (end.number < col("n"))),
    "transform": lambda: F.transform("ended", lambda end: F.struct(end.why.alias("w"), (end.number + col("n")).alias("s"))),
    "exists": lambda: F.exists(F.coalesce("ended", F.array()), lambda end: end.number == col("n")),
    "sorted": lambda: F.sort_array(F.transform("ended", lambda end: F.struct(end.number, end.why))),
    "json": lambda: F.to_json(F.transform("ended", lambda end: F.struct(end.number, end.done))),
    "json of texts": lambda: F.to_json(F.array(F.lit("ä/\""), F.when(col("flag"), F.lit("b")))),
    "directory": lambda: directory_of(F.concat(F.lit("/"), "text")),
    "member": lambda: F.struct("text", "n")["n"],
}  # fmt: skip
"""What does not follow from the arguments alone (hashes, numbers of rows) is left out: nobody keeps it."""

AGGREGATES: dict[str, Callable[[], Column]] = {
    "count": lambda: F.count("*"),
    "of n": lambda: F.count("n"),
    "distinct": lambda: F.countDistinct("n", "text"),
    "if": lambda: F.count_if(col("n") > col("m")),
    "sum": lambda: F.coalesce(F.sum("n"), F.lit(0)),
    "share": lambda: F.max("share"),
    "extremes": lambda: F.struct(F.max("text").alias("a"), F.min("text").alias("b"), F.max("at").alias("c")),
    "any": lambda: ~F.bool_or(col("flag")),
    "all": lambda: F.bool_and(F.coalesce("flag", F.lit(False))),
    "list": lambda: F.sort_array(F.collect_list("text")),
    "set": lambda: F.size(F.array_distinct(F.flatten(F.collect_list("words")))),
    "last": lambda: F.max_by(F.lit(1), "n"),
    "xor": lambda: F.bit_xor("n"),
    "key": lambda: F.concat(F.coalesce("other", F.lit("?")), F.lit("!")),
}


def frames(session: SparkSession, at: str) -> dict[str, DataFrame]:
    """Every relation, over the same rows."""
    given = session.read.parquet(at)
    left, right = given.select("text", "n", "few", "flag"), given.select("text", "n", F.col("at").alias("seen"), F.lit(7).alias("seven"))
    order = Window.partitionBy("flag").orderBy(F.desc("n"), "text", "other", "m")
    named, below = left.alias("named"), F.broadcast(right.select("text", "n")).alias("below")
    on = (F.col("named.n") <= F.col("below.n")) & F.col("named.text").eqNullSafe(F.col("below.text"))
    listed = given.agg(F.sort_array(F.collect_list(F.struct("text", "n"))).alias("l"))
    return {
        "scalars": given.select(*(make().alias(f"c{number}") for number, make in enumerate(SCALARS.values()))),
        "aggregates": given.groupBy("other").agg(*(make().alias(f"c{number}") for number, make in enumerate(AGGREGATES.values()))),
        "one group": given.agg(F.count("*").alias("rows"), F.sum("n").alias("n")),
        "grouped by several": given.groupBy("flag", F.coalesce("few", F.lit(0)).alias("few")).agg(F.min("n").alias("n")),
        "filter": given.where((F.col("n") > 0) | F.col("flag")),
        "distinct": given.select("text", "few").distinct(),
        "union": left.unionByName(right.select("n", "text", F.lit(None).cast("boolean").alias("flag"), F.lit(1).alias("few"))),
        **{f"join {kind}": left.join(right, ["text", "n"], kind) for kind in ("inner", "left", "full_outer")},
        **{f"join {kind}": left.join(F.broadcast(right), ["text"], kind) for kind in ("left_semi", "left_anti")},
        "join on a condition": named.join(below, on, "left").drop(F.col("below.text")),
        "columns": given.withColumns({"n": F.col("n") + 1, "new": F.col("few")}).withColumnRenamed("text", "t").drop("other", "none"),
        "renamed": left.withColumnsRenamed({"n": "x", "few": "y"}),
        "filled": given.fillna(0, ["n", "text", "few"]).fillna(False, ["flag", "n"]).fillna({"other": "-"}),
        "exploded": given.select("n", F.explode("ended").alias("end")).select("n", "end.number", F.col("end.why").alias("why")),
        "numbered": listed.select(F.posexplode("l").alias("no", "of")).select("no", "of.*"),
        "window": given.select("flag", "n", "text", "other", "m", F.lag("n").over(order).alias("a"), F.row_number().over(order).alias("b")),
        "places": with_job_directory(with_places(given.select("text"), "text"), "text"),
        "limited": given.select(F.lit(1).alias("one")).limit(3),
    }  # fmt: skip


def results(session: SparkSession, at: str) -> dict[str, Any]:
    found = {}
    for name, frame in frames(session, at).items():
        table = frame.toArrow()
        rows = sorted(json.dumps(row, default=_plain, sort_keys=True) for row in table.to_pylist())
        found[name] = ([(field.name, spark_type(field.type).simpleString()) for field in table.schema], rows)
    return found


def _plain(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)


@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(rows=rows)
def test_any_rows_give_what_spark_gives(spark: SparkSession, tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    at = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), at)
    by_spark = results(spark, str(at))
    with in_process_session() as session:
        here = results(session, str(at))
    for name, expected in by_spark.items():
        assert here[name] == expected, name


def test_what_is_not_known_is_an_error_and_no_guess(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1]}), tmp_path / "rows.parquet")
    with in_process_session() as session:
        given_rows = session.read.parquet(str(tmp_path / "rows.parquet"))
        for frame in (given_rows.select(F.soundex("n")), given_rows.select("m"), given_rows.crossJoin(given_rows).select("n")):
            with pytest.raises(Unsupported):
                frame.toArrow()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with in_process_session() as session, pytest.raises(FileNotFoundError):
        session.read.schema(T.StructType([T.StructField("n", T.LongType())])).parquet(str(tmp_path / "gone.parquet")).toArrow()
