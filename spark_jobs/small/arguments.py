"""From how many rows on a job works with Spark."""

import argparse

from spark_jobs.small.rows import MOST_ROWS


def add_most_rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--most-rows-without-spark", type=int, default=MOST_ROWS, metavar="N",
        help=f"so many rows are worked on in this process, more with Spark (default: {MOST_ROWS:,}; 0: always with Spark)",
    )  # fmt: skip
