"""What real Flinks answered to requests for thread dumps (``tests/fixtures/thread_dumps``)."""

import gzip
import json
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from ingest.flink_rest.payloads.thread_dump import thread_dump
from spark_jobs.diagnosis.thread_dumps import DumpedThread

FOLDER = Path(__file__).parent / "fixtures" / "thread_dumps"
VERSIONS = sorted(path.name.removesuffix(".jsonl.gz") for path in FOLDER.glob("*.gz"))


@cache
def answers(version: str) -> list[dict[str, Any]]:
    """In the order of asking: incident, path, status, body."""
    return [
        json.loads(line)
        for line in gzip.decompress((FOLDER / f"{version}.jsonl.gz").read_bytes()).splitlines()
    ]


def dumps(version: str, incident: str) -> list[dict[str, Any]]:
    """Bodies with threads."""
    told = (
        one
        for one in answers(version)
        if one["incident"] == incident and "thread-dump" in one["path"]
    )
    return [one["body"] for one in told if one["status"] == 200]


def threads(body: dict[str, Any]) -> list[DumpedThread]:
    return [DumpedThread(**asdict(thread)) for thread in thread_dump(body)]
