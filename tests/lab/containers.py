"""What a container runtime makes of what a process prints: a file below ``pods``, each line in
CRI's envelope.

Written as Kubernetes documents it (``TIME stdout F LINE``; a line of more than 16 KiB in parts, all
but the last tagged ``P``), by threads of this process: no containerd took part.
"""

import os
import threading
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

PART_BYTES = 16 * 1024


def pod_log(pods: Path, pod: str) -> Path:
    """A new file of the pod's main container; a container that is started again has the next
    number.
    """
    folders = sorted(pods.glob(f"flink_{pod}_*/flink-main-container"))
    folder = (
        folders[0] if folders else pods / f"flink_{pod}_{uuid.uuid4()}" / "flink-main-container"
    )
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{len(list(folder.glob('*.log')))}.log"


def piped(log: Path) -> BinaryIO:
    """Where to print to: each line is in the file as soon as it was printed, until the last writer
    has closed it.
    """
    reading, writing = os.pipe()
    threading.Thread(target=_copy, args=(os.fdopen(reading, "rb"), log), daemon=True).start()
    return os.fdopen(writing, "wb")


def _copy(printed: BinaryIO, log: Path) -> None:
    with printed, log.open("wb", buffering=0) as out:
        for line in printed:
            text = line.removesuffix(b"\n")
            parts = [
                text[start : start + PART_BYTES] for start in range(0, len(text), PART_BYTES)
            ] or [b""]
            at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z").encode()
            tags = [b"P"] * (len(parts) - 1) + [b"F"]
            out.write(
                b"".join(
                    b"%s stdout %s %s\n" % (at, tag, part)
                    for tag, part in zip(tags, parts, strict=True)
                )
            )
