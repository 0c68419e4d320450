"""Play the recordings that ship with Weir on loopback, over and over, as running clusters (the
demo).

Each cluster is a JobManager at http://127.0.0.1:PORT/CLUSTER with its own port. Its logs are in
DIR/CLUSTER/logs and its checkpoints in DIR/CLUSTER/checkpoints. If the file DIR/looked exists, jobs
are submitted only if it changed in the last 15 minutes. Once the file DIR/audited exists, the
checkpoints are those of the jobs that run. Ends with Ctrl-C.
"""

import argparse
import asyncio
import signal
from pathlib import Path

from ingest.replay.player import Player
from ingest.replay.server import serve
from ingest.replay.shipped import PAST_MS, SHIPPED, recordings
from ingest.replay.tape import Tape


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="where the clusters' logs are written",
    )
    parser.add_argument(
        "--ports",
        type=int,
        nargs=len(SHIPPED),
        required=True,
        metavar="N",
        help="on 127.0.0.1, one for each cluster",
    )
    parser.add_argument(
        "--recordings",
        type=Path,
        default=recordings(),
        metavar="DIR",
        help="where the recordings lie",
    )


def run(args: argparse.Namespace) -> int:
    players = {
        shipped.name: Player(
            Tape(args.recordings / shipped.recording),
            shipped.jobs,
            args.out / shipped.name,
            rest_ms=shipped.rest_s * 1000,
            past_ms=PAST_MS if shipped.has_past else 0,
        )
        for shipped in SHIPPED
    }
    asyncio.run(_serve(players, args))
    return 0


async def _serve(players: dict[str, Player], args: argparse.Namespace) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await serve(players, args.ports, args.out, stop)
