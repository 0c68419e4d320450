"""Update another place's copy of a job's newest checkpoint: copy and verify the missing files, and
rewrite the paths in its _metadata.

Reads a request (--request) and writes its result (--out), both JSON. Many files are copied on
executors, few in this process. If a run is killed, the next one continues its work. Files of the
origin are never changed.
"""

import argparse
from collections.abc import Iterator, Sequence

from spark_jobs.job_arguments import add_attempt, interrupt_attempts
from spark_jobs.paths import absolute_root
from spark_jobs.progress import say
from spark_jobs.replication.copying import Batch, Failure, in_threads
from spark_jobs.replication.request import Request, read_request, write_result
from spark_jobs.replication.round import replicate

JOB = "replicate"
MOST_BYTES = 256 << 20
MOST_FILES = 2_000
"""At most this much is copied in this process: in that time a Spark session would start."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--request",
        required=True,
        metavar="FILE",
        help="JSON: source, destination, the registered roots",
    )
    parser.add_argument(
        "--out", required=True, metavar="FILE", help="where to write the JSON, path or URI"
    )
    add_attempt(parser)


def run(args: argparse.Namespace) -> int:
    interrupt_attempts(args.interrupt)

    def copy_all(
        request: Request, round_: int, batches: Sequence[Batch]
    ) -> Iterator[Sequence[Failure]]:
        sizes = [entry.bytes for batch in batches for entry in batch]
        if len(sizes) <= MOST_FILES and sum(sizes) <= MOST_BYTES:
            yield from in_threads(request, round_, batches)
            return
        # Importing Spark takes longer than a small round.
        from spark_jobs.replication.executors import on_executors
        from spark_jobs.session import session_of_attempt
        from spark_jobs.shipping import ship_code

        with session_of_attempt(f"weir {JOB} {args.attempt}", args.attempt) as session:
            ship_code(session)
            yield on_executors(session, request, round_, batches)

    result = replicate(read_request(absolute_root(args.request)), copy_all, say)
    write_result(absolute_root(args.out), result)
    say(
        f"{result.state}: checkpoint {result.checkpoint_id}, {result.copied_files:,} files copied, "
        f"{result.deleted_files:,} deleted"
    )
    return 0
