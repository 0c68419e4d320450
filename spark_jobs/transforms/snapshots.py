"""What a job was restored from, in words that are the same whichever source told of it."""

from pyspark.sql import Column
from pyspark.sql import functions as F


def restore_subject(checkpoint_id: Column) -> Column:
    """The id alone: REST calls a retained checkpoint that is not claimed a savepoint, and so may the log."""
    return F.coalesce(checkpoint_id.cast("string"), F.lit(""))


def restore_label(what: Column, checkpoint_id: Column) -> Column:
    """``restored from checkpoint 7``."""
    return F.concat_ws(" ", F.lit("restored from"), what, checkpoint_id.cast("string"))


def restore_detail(what: Column, checkpoint_id: Column, path: Column) -> Column:
    """Struct of the snapshot and its claim mode.

    A job that starts from another job's checkpoint *as a checkpoint* has claimed it; as a "savepoint", it
    left it to its owner, by NO_CLAIM or LEGACY, which nothing reported tells apart. A restart of a job
    from its own checkpoint is no claim at all.
    """
    foreign = ~F.contains(F.coalesce(path, F.lit("")), F.col("job_id")) & path.isNotNull()
    claim_mode = F.when(what == "savepoint", F.lit("NO_CLAIM or LEGACY")).when(foreign, F.lit("CLAIM"))
    return F.struct(what.alias("from"), checkpoint_id.alias("checkpoint_id"), path.alias("path"), claim_mode.alias("claim_mode"))
