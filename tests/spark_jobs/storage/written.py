"""Worlds whose ``_metadata`` lie on disk, byte for byte, damaged ones among them."""

from pathlib import Path
from typing import Any

from tests.ingest.metadata import writing as w
from tests.spark_jobs.storage.worlds import Snapshot, World

_META = w.byte_stream("chk/meta", b"meta")


def write(world: World, folder: Path) -> list[dict[str, Any]]:
    """Writes them below ``folder``; returns what an audit would want to read: those that were
    listed.
    """
    wanted = []
    for snapshot in world.snapshots:
        at = folder / str(world.seed) / snapshot.path.replace(":", "").lstrip("/")
        if snapshot.listed or snapshot.found_later:
            _write(snapshot, at)
        if snapshot.listed:
            wanted.append(
                {
                    "audit_id": str(world.seed),
                    "root": world.root_of(snapshot.path),
                    "path": snapshot.path,
                    "read_path": str(at),
                }
                | {"bytes": 99, "modified": snapshot.modified}
            )
    return wanted


def _write(snapshot: Snapshot, at: Path) -> None:
    at.parent.mkdir(parents=True, exist_ok=True)
    content = content_of(snapshot)
    match snapshot.failure:
        case "":
            at.write_bytes(content)
        case "incomplete_metadata":
            at.write_bytes(content[: len(content) // 3])
        case "empty_metadata":
            at.write_bytes(b"")
        case "no_magic_number":
            at.write_bytes(b"\x00" + content[1:])
        case "damaged_metadata":
            # A number of master states that none can have.
            at.write_bytes(content[:16] + b"\xff\xff\xff\xff" + content[20:])
        case "unsupported_metadata":
            at.write_bytes(content[:4] + (99).to_bytes(4, "big") + content[8:])
        case "unreadable_file":
            at.mkdir()
        case "vanished_metadata":
            pass


def content_of(snapshot: Snapshot) -> bytes:
    files = {
        f"{number:06d}.sst": w.file(5, path)
        for number, path in enumerate(snapshot.written.values())
    }
    keyed = w.incremental(_META, files, {}, new=True)
    return w.metadata(
        4, [w.operator(4, [w.subtask(4, 0, keyed=keyed)])], checkpoint=snapshot.number
    )
