"""Load a recorded bundle (REST answers and logs of a cluster) into the lake, recorded times kept.

The folder is one recording: rest.jsonl (or rest.jsonl.gz) and logs/, as `python -m ingest record`
writes them. A second import of the same recording changes nothing that is shown.
"""

import argparse
import sys
from pathlib import Path

from ingest.commands.record import add_log_arguments
from ingest.lake.environment import lake_place
from ingest.lake.store import Lake
from ingest.messages import count_text
from ingest.recordings.importer import ImportSummary, import_recording


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", type=Path, metavar="DIR", help="the recording")
    parser.add_argument(
        "--cluster", required=True, metavar="NAME", help="name under which the cluster is shown"
    )
    parser.add_argument(
        "--lake",
        metavar="ROOT",
        help="path or URI of the lake (default: WEIR_LAKE_ROOT, else WEIR_HOME/lake)",
    )
    add_log_arguments(parser)


def run(args: argparse.Namespace) -> int:
    summary = import_recording(
        args.directory,
        args.cluster,
        Lake(*lake_place(args.lake)),
        log_time_zone=args.log_time_zone,
        log_layout=args.log_layout,
        progress=lambda line: print(f"import: {line}", file=sys.stderr, flush=True),
    )
    print(summary_text(summary))
    return 0 if summary.records.keys() - {"skips"} else 1


def summary_text(summary: ImportSummary) -> str:
    lines = [f"{summary.directory} → cluster {summary.cluster}"]
    lines.append(
        f"  Flink {summary.flink_version or 'of unknown version'}, "
        f"{count_text(len(summary.jobs), 'job')}"
    )
    lines += [f"  {count:>9,} {table}" for table, count in sorted(summary.records.items())]
    if summary.skipped:
        lines.append(
            "  skipped: "
            + ", ".join(f"{count} {reason}" for reason, count in summary.skipped.most_common())
        )
        lines += [f"    {skip.subject}: {skip.detail}" for skip in summary.skips]
    return "\n".join(lines)
