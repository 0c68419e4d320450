"""Operator state of retained checkpoints: by operator its bytes, beside those of keyed state, and the elements of its named lists.

For each element a checkpoint keeps an offset of eight bytes in its ``_metadata``, which the JobManager has on its heap as well; of a
UNION list each subtask gets the elements of all at a restore. REST reports none of this.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

LEAST_ELEMENTS, LEAST_BYTES = 256, 16 << 10
"""Operators with less of both have no row: every source has some operator state, a few elements of it."""
MOST_OPERATORS = 20
"""Of one checkpoint, those with most elements."""
MOST_STATES = 10
"""Named states of one operator, those with most elements."""
NAME_LENGTH = 200
_KINDS = ("managed-op", "raw-op")
_OTHERS = ("coordinator", "channel-input", "channel-output")
_OPERATOR = ["audit_id", "metadata_path", "operator_id"]


def notable_operators(parsed: DataFrame) -> DataFrame:
    """(audit, checkpoint, operator) with its figures, of all ``_metadata`` read, to their end or not."""
    of_operator, size = F.col("kind").isin(*_KINDS), F.coalesce("state_bytes", F.lit(0))
    rows = parsed.where((F.col("ordinal") > 0) & ~F.col("kind").isin(*_OTHERS))
    sums = rows.groupBy(*_OPERATOR).agg(
        F.max("operator_name").alias("operator_name"),
        _zero(F.sum(F.when(of_operator, size))).alias("operator_bytes"),
        _zero(F.sum(F.when(~of_operator, size))).alias("keyed_bytes"),
        F.countDistinct(F.when(of_operator, F.col("path"))).alias("files"),
        F.countDistinct(F.when(of_operator, F.col("subtask"))).alias("subtasks"),
    )
    found = sums.where(F.col("operator_bytes") > 0).join(_of_lists(rows.where(of_operator)), _OPERATOR, "left")
    counts = {name: _zero(F.col(name)) for name in ("elements", "union_elements", "broadcast_elements")}
    counted = found.withColumns({**counts, "states": F.coalesce("states", F.lit("[]"))})
    return counted.where((F.col("elements") >= LEAST_ELEMENTS) | (F.col("operator_bytes") >= LEAST_BYTES))


def _of_lists(rows: DataFrame) -> DataFrame:
    """Elements by mode, and ``states``: JSON of [{name, mode, elements, most}], ``most`` of one subtask."""
    lists = rows.where(F.col("states").isNotNull()).select(*_OPERATOR, F.explode("states").alias("state"))
    named = lists.groupBy(*_OPERATOR, F.substring("state.name", 1, NAME_LENGTH).alias("name"), F.col("state.mode").alias("mode")).agg(
        F.sum("state.offsets").alias("elements"), F.max("state.offsets").alias("most")
    )
    ordered = F.slice(
        F.sort_array(F.collect_list(F.struct((-F.col("elements")).alias("less"), "name", "mode", "elements", "most"))), 1, MOST_STATES
    )
    shown = F.transform(ordered, lambda one: F.struct(*(one[name].alias(name) for name in ("name", "mode", "elements", "most"))))
    return named.groupBy(*_OPERATOR).agg(
        F.sum("elements").alias("elements"),
        _of_mode("UNION").alias("union_elements"),
        _of_mode("BROADCAST").alias("broadcast_elements"),
        F.to_json(shown).alias("states"),
    )


def _of_mode(mode: str) -> Column:
    return F.sum(F.when(F.col("mode") == mode, F.col("elements")))


def _zero(column: Column) -> Column:
    return F.coalesce(column, F.lit(0))


def of_checkpoints(operators: DataFrame, checkpoints: DataFrame) -> DataFrame:
    """``storage_operator_state``: those of checkpoints that were read to their end, at most ``MOST_OPERATORS`` of each."""
    where = checkpoints.select("audit_id", "metadata_path", "root", "cluster", "job_id", "checkpoint_id", "is_savepoint", "modified")
    order = Window.partitionBy("audit_id", "metadata_path").orderBy(F.col("elements").desc(), F.col("operator_bytes").desc(), "operator_id")
    placed = operators.join(where, ["audit_id", "metadata_path"]).withColumn("_place", F.row_number().over(order))
    return placed.where(F.col("_place") <= MOST_OPERATORS)
