"""A stand-in for a Spark job: it logs one line."""

import logging
from collections.abc import Sequence


def run_job(_words: Sequence[str]) -> int:
    logging.getLogger("spark_jobs.fold").warning("a rule failed; password=hunter2hunter2")
    return 0
