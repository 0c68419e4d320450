"""Spark's daemon of Python workers, with all imported that Weir's workers need: they are forked from it, one or more for each session."""

import gc
import importlib

from pyspark import daemon

IMPORTED = (
    "pyspark.worker",
    "pyspark.sql.pandas.serializers",
    "pyarrow.compute",
    "pandas",  # which Spark imports for every function on Arrow batches, whether or not it uses it
    "spark_jobs.transforms.fold_batches",
    "spark_jobs.transforms.log_events",
    "spark_jobs.transforms.log_records",
)


def main() -> None:
    for name in IMPORTED:
        importlib.import_module(name)
    gc.collect()
    # The collector would otherwise touch, and so copy, every page of what is imported in each worker.
    gc.freeze()
    daemon.manager()


if __name__ == "__main__":
    main()
