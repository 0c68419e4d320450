from chispa import assert_df_equality
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.transforms.replays import newest_by
from tests.spark_jobs.rows import collected

SCHEMA = "k string, n int, v array<string>"


def test_the_largest_by_order_stays_and_columns_keep_their_order(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1, ["x"]), ("a", 3, ["y"]), ("a", 2, ["z"]), ("b", 1, None)], SCHEMA)
    expected = spark.createDataFrame([("a", 3, ["y"]), ("b", 1, None)], SCHEMA)
    assert_df_equality(newest_by(df, ("k",), ("n",)), expected, ignore_row_order=True, ignore_nullable=True)


def test_unknown_loses_against_anything_known(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", None, ["x"]), ("a", -5, ["y"])], SCHEMA)
    assert [row["v"] for row in collected(newest_by(df, ("k",), ("n",)))] == [["y"]]


def test_an_unknown_key_is_a_key_of_its_own(spark: SparkSession) -> None:
    df = spark.createDataFrame([(None, 1, ["x"]), (None, 2, ["y"]), ("a", 1, ["z"])], SCHEMA)
    assert sorted(row["v"][0] for row in collected(newest_by(df, ("k",), ("n",)))) == ["y", "z"]


def test_a_tie_falls_to_the_content_in_whatever_order_rows_come(spark: SparkSession) -> None:
    rows = [("a", 1, ["x", None]), ("a", 1, [None, "x"]), ("a", 1, ["w"])]
    picked = [collected(newest_by(spark.createDataFrame(some, SCHEMA).repartition(3), ("k",), ("n",))) for some in (rows, rows[::-1])]
    assert picked[0] == picked[1]


def test_order_may_be_an_expression(spark: SparkSession) -> None:
    df = spark.createDataFrame([("a", 1, ["x"]), ("a", 2, ["y"])], SCHEMA)
    assert [row["n"] for row in collected(newest_by(df, ("k",), (-F.col("n"),)))] == [1]
