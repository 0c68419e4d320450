"""``python -m tests.lab.recording INCIDENT FOLDER``: play an incident and record what Weir's own
recorder reads of it.

Writes ``FOLDER/<version>/<incident>/``: what ``python -m ingest record`` leaves, packed, and
``played.json``: the arguments and settings it was played with. With ``--tree`` also the checkpoint
directory as it was when Flink was stopped, as ``tests/fixtures/storage`` keeps them:
``listing-final.tsv.gz`` and ``metadata.tar.gz``; of an incident that loses files also as it was
before. Of an incident that counts calls there is ``calls.tsv.gz``, of one that pushes reports
``otlp.jsonl.gz``.
"""

import argparse
import base64
import gzip
import json
import shutil
import subprocess
import sys
import tarfile
import threading
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from tests.lab.cluster import Lab, start
from tests.lab.configuration import Layout
from tests.lab.incidents import INCIDENTS
from tests.lab.releases import DEFAULT_VERSION, RELEASES
from tests.webapp.delivery.receiver import Got, receiving
from webapp.config.environment import PROJECT_DIR

FINAL = "final"


def main(arguments: list[str]) -> int:
    options = _parser().parse_args(arguments)
    folder: Path = options.folder / options.version / options.incident
    shutil.rmtree(folder, ignore_errors=True)
    port = Layout(folder, options.slot).otlp_port
    with (
        receiving(port=port) as receiver,
        start(options.version, options.incident, options.slot) as lab,
    ):
        for beside in options.beside:
            lab.play(beside)
        play_and_record(lab, folder, options.seconds, options.every)
    for path in (folder / "rest.jsonl", *(folder / "logs").iterdir()):
        pack(path)
    if receiver.got:
        keep_reports(receiver.got, folder)
    beside = {name: INCIDENTS[name].arguments for name in options.beside}
    tell_how(
        lab,
        folder,
        beside=beside,
        seconds=options.seconds,
        every_s=options.every,
        root=str(lab.checkpoint_dir),
    )
    if lab.incident.counts_calls:
        calls = sorted(
            line
            for part in lab.layout.calls.glob("*.tsv")
            for line in part.read_text().splitlines(keepends=True)
        )
        (folder / "calls.tsv.gz").write_bytes(gzip.compress("".join(calls).encode(), mtime=0))
    for counts in sorted(lab.layout.folder.glob("*-[0-9].tsv")):
        (folder / f"{counts.name}.gz").write_bytes(gzip.compress(counts.read_bytes(), mtime=0))
    if options.tree:
        keep_tree(lab.checkpoint_dir, folder)
    return 0


def keep_tree(root: Path, folder: Path, at: str = FINAL) -> None:
    """Path, bytes and time of each file below a root, and the content of each ``_metadata``."""
    folder.mkdir(parents=True, exist_ok=True)
    files = sorted((path for path in root.rglob("*") if path.is_file()), key=str)
    lines = (
        f"{path.relative_to(root)}\t{path.stat().st_size}\t{path.stat().st_mtime:.3f}\n"
        for path in files
    )
    (folder / f"listing-{at}.tsv.gz").write_bytes(gzip.compress("".join(lines).encode(), mtime=0))
    with tarfile.open(
        folder / ("metadata.tar.gz" if at == FINAL else f"metadata-{at}.tar.gz"), "w:gz"
    ) as archive:
        for path in (path for path in files if path.name == "_metadata"):
            archive.add(path, str(path.relative_to(root)))


def keep_reports(reports: list[Got], folder: Path) -> None:
    """``otlp.jsonl.gz``: each request with spans or events, as Flink's own exporter sent it."""
    lines = (
        json.dumps(
            {
                "ts": report.at,
                "path": report.path,
                "headers": report.headers,
                "body": base64.b64encode(report.body).decode(),
            }
        )
        for report in reports
    )
    packed = gzip.compress("".join(f"{line}\n" for line in lines).encode(), mtime=0)
    (folder / "otlp.jsonl.gz").write_bytes(packed)


def tell_how(lab: Lab, folder: Path, **more: Any) -> None:
    """``played.json``."""
    how = {**asdict(lab.incident), "version": lab.release.version, **more}
    (folder / "played.json").write_text(json.dumps(how, indent=1) + "\n")


def play_and_record(lab: Lab, folder: Path, seconds: int, every_s: int) -> None:
    """What an incident needs besides its job happens meanwhile."""
    before_loss = partial(keep_tree, lab.checkpoint_dir, folder, "before-loss")
    threading.Thread(target=lab.play_out, args=(before_loss,), daemon=True).start()
    command = [
        sys.executable,
        "-m",
        "ingest",
        "record",
        lab.url,
        "--out",
        str(folder),
        "--logs",
        lab.log_glob,
    ]
    # It fails also where a single answer was skipped: what counts is what there is to import.
    subprocess.run(
        [*command, "--seconds", str(seconds), "--every", str(every_s)], cwd=PROJECT_DIR, check=False
    )


def pack(path: Path) -> None:
    path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    path.unlink()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab.recording", description=__doc__)
    parser.add_argument("incident", choices=sorted(INCIDENTS))
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--beside",
        action="append",
        choices=sorted(INCIDENTS),
        default=[],
        help="another incident, its job only",
    )
    parser.add_argument("--version", choices=sorted(RELEASES), default=DEFAULT_VERSION)
    parser.add_argument("--seconds", type=int, default=150, help="how long (default: %(default)s)")
    parser.add_argument(
        "--every",
        type=int,
        default=10,
        help="seconds from one poll to the next (default: %(default)s)",
    )
    parser.add_argument(
        "--tree", action="store_true", help="keep the checkpoint directory too, without payload"
    )
    parser.add_argument("--slot", type=int, choices=range(5), default=4)
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
