"""Record a running cluster into a folder that `import` reads, to send it or to keep it as a test.

The answers that Weir reads and new log lines are written every few seconds, at first whole logs.
Passwords, tokens and users' own parameters are removed. Ctrl-C ends the recording early; what was
written until then is complete.
"""

import argparse
import asyncio
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

from ingest.errors import Refused
from ingest.flink_rest.client import SAME_PATH_PAUSE_S
from ingest.messages import count_text
from ingest.recordings.recorder import RecordSummary, record
from ingest.sources import Auth, ClusterSource, LogSource, Tls


def add_connection_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--user", help="user of basic authentication")
    parser.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help="its password (or set WEIR_CLUSTER_PASSWORD)",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="bearer token instead (or set WEIR_CLUSTER_TOKEN)",
    )
    parser.add_argument(
        "--ca-file", default="", metavar="PEM", help="certificate authority of the cluster"
    )
    parser.add_argument("--client-cert", default="", metavar="PEM", help="client certificate")
    parser.add_argument("--client-key", default="", metavar="PEM", help="its key")
    parser.add_argument(
        "--insecure", action="store_true", help="accept any certificate of the cluster"
    )


def add_log_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--log-time-zone",
        default="UTC",
        metavar="ZONE",
        help="IANA name of the zone of the logs (default: UTC)",
    )
    parser.add_argument(
        "--log-layout",
        default="flink",
        metavar="PATTERN",
        help="log4j pattern where it is not one of Flink's defaults",
    )


def source_of(args: argparse.Namespace, name: str, url: str) -> ClusterSource:
    return ClusterSource(
        name=name,
        url=url,
        auth=_auth(args),
        tls=Tls(
            ca_file=args.ca_file,
            client_cert_file=args.client_cert,
            client_key_file=args.client_key,
            verify=not args.insecure,
        ),
        logs=LogSource(
            globs=tuple(args.logs), layout=args.log_layout, time_zone=args.log_time_zone
        ),
    )


def _auth(args: argparse.Namespace) -> Auth | None:
    token = _read_secret(args.token_file, "WEIR_CLUSTER_TOKEN")
    if args.user and args.token_file:
        raise Refused("Give either --user with a password or --token-file, not both.")
    if args.user:
        password = _read_secret(args.password_file, "WEIR_CLUSTER_PASSWORD")
        return Auth("basic", password, args.user)
    return Auth("bearer", token) if token else None


def _read_secret(path: Path | None, variable: str) -> str:
    if path is None:
        return os.environ.get(variable, "")
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"The secret in {path} cannot be read.") from error


MEBIBYTE = 1024 * 1024
MOST_BYTES = 2048 * MEBIBYTE


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "url", metavar="URL", help="address of the JobManager, as in http://jobmanager:8081"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="folder to write; must not hold a recording yet",
    )
    parser.add_argument(
        "--seconds", type=float, default=300, metavar="N", help="how long (default: 300)"
    )
    parser.add_argument(
        "--every",
        type=float,
        default=5,
        metavar="S",
        help="seconds from one poll to the next (default: 5)",
    )
    add_connection_arguments(parser)
    parser.add_argument(
        "--logs",
        action="append",
        default=[],
        metavar="GLOB",
        help="log files, local or any fsspec URI; may be given often",
    )
    add_log_arguments(parser)


def run(args: argparse.Namespace) -> int:
    if args.every < SAME_PATH_PAUSE_S:
        raise Refused(
            f"--every must be at least {SAME_PATH_PAUSE_S:g} s: JobManagers are not asked the same "
            "more often."
        )
    summary = asyncio.run(
        record(
            source_of(args, "recorded", args.url),
            args.out,
            seconds=args.seconds,
            every_s=args.every,
            max_bytes=MOST_BYTES,
            at=lambda: datetime.now(UTC),
            progress=lambda line: print(f"record: {line}", file=sys.stderr, flush=True),
        )
    )
    print(summary_text(summary))
    return 1 if summary.skips or summary.error else 0


def summary_text(summary: RecordSummary) -> str:
    size = summary.bytes_written / MEBIBYTE
    lines = [
        (
            f"{summary.directory}: Flink {summary.flink_version or 'of unknown version'}, "
            f"{count_text(len(summary.jobs), 'job')}"
        ),
        f"  {count_text(summary.answers, 'answer')}, {size:.1f} MiB, {summary.skips} skipped",
    ]
    if summary.stopped_by == "size":
        lines.append("  ended because it became larger than 2 GiB")
    if summary.error:
        lines.append(f"  error in the last poll: {summary.error}")
    return "\n".join(lines)
