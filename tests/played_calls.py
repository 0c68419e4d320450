"""Calls to the NameNode that were counted as a real Flink played an incident, and the ``_metadata``
that it left.
"""

import gzip
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from ingest.metadata.files import MetadataFile
from ingest.metadata.references import reference_batches
from tests.played import FOLDER
from tests.played_trees import METADATA, lay_out, listed, root_uri


class Call(NamedTuple):
    at_ms: int
    kind: str
    path: str
    bytes: int


def metadata_rows(
    name: str, directory: Path
) -> dict[int, tuple[MetadataFile, list[dict[str, Any]]]]:
    """By checkpoint each ``_metadata`` that Flink had left, with the rows of its handles."""
    lay_out(name, directory)
    found = {}
    for path, size, _modified in listed(name):
        if path.endswith(METADATA):
            file = MetadataFile(f"{root_uri(name)}/{path}", size, None, str(directory / path))
            rows = [
                row
                for batch in reference_batches(file)
                for row in batch.to_pylist()
                if row["ordinal"]
            ]
            found[int(path.split("/chk-")[1].split("/")[0])] = (file, rows)
    return found


def calls(name: str) -> list[Call]:
    lines = gzip.decompress((FOLDER / name / "calls.tsv.gz").read_bytes()).decode().splitlines()
    return [
        Call(int(at), kind, path, int(size))
        for at, kind, path, size in (line.split("\t") for line in lines)
    ]


def calls_by_checkpoint(name: str) -> dict[int, Counter[str]]:
    """Of each checkpoint the calls that wrote it: a file belongs to the checkpoint under way as it
    was created. None ran beside another.

    What is deleted is left out: that is of earlier checkpoints.
    """
    found: dict[int, Counter[str]] = {}
    owners: dict[str, int] = {}
    now = 0
    # Several processes wrote it down: within a millisecond, what begins a checkpoint comes first.
    for call in sorted(calls(name), key=lambda one: (one.at_ms, one.kind != "mkdirs")):
        own = re.search(r"/chk-(\d+)(?:/|$)", call.path)
        if call.kind == "mkdirs" and own:
            now = int(own[1])
        if call.kind == "create":
            owners[call.path] = int(own[1]) if own else now
        owner = int(own[1]) if own else owners.get(call.path)
        if owner is not None and call.kind != "delete":
            found.setdefault(owner, Counter())[call.kind] += 1
    return found
