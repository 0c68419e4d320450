"""Answers of a real Flink, one a line, as the lab's scripts for one kind of request record them."""

import argparse
import gzip
import json
import time
import urllib.error
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.lab.cluster import Lab
from tests.lab.releases import DEFAULT_VERSION, RELEASES
from tests.lab.rest import call


def answer(lab: Lab, path: str) -> dict[str, Any]:
    """What is answered to a GET, errors too."""
    told = {"incident": lab.incident.name, "ts": time.time(), "path": path}
    try:
        return {**told, "status": 200, "body": call(lab.url + path)}
    except urllib.error.HTTPError as error:
        return {**told, "status": error.code, "body": json.load(error)}


def write(folder: Path, version: str, lines: Iterable[dict[str, Any]]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / f"{version}.jsonl.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def parser(script: str, about: str | None) -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(prog=f"python -m tests.lab.{script}", description=about)
    options.add_argument("folder", type=Path)
    options.add_argument("--version", choices=sorted(RELEASES), default=DEFAULT_VERSION)
    options.add_argument("--slot", type=int, choices=range(5), default=4)
    return options
