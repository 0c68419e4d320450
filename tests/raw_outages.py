"""Outages by the raw lines of a JobManager's log, read in the plainest way: shares no code with the
product.
"""

import gzip
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

RECORDINGS = Path(__file__).parent / "fixtures" / "recordings"
INCIDENTS = RECORDINGS.parent / "incidents"
LINE = re.compile(
    r"^(\S+ \S+) INFO .*?ExecutionGraph +\[\] - (.*) switched from (?:state )?\w+ to (\w+)"
)
RESTORED = re.compile(r"Restoring job \w+ from Checkpoint (\d+) @ (\d+)")


@dataclass(frozen=True)
class RawOutage:
    """From the first RESTARTING until every task is RUNNING (epoch ms), and the checkpoint that was
    restored last before that.
    """

    begun_ms: int
    ended_ms: int
    restored_id: int
    restored_trigger_ms: int


def folder_of(recording: str) -> Path:
    """``<version>/<scenario>`` of a recording, or ``<version>/<incident>`` that was played."""
    return next(
        folder for folder in (RECORDINGS / recording, INCIDENTS / recording) if folder.is_dir()
    )


def jobmanager_log(recording: str) -> str:
    (log,) = (folder_of(recording) / "logs").glob("*standalonesession*")
    return text_of(log)


def text_of(file: Path) -> str:
    content = file.read_bytes()
    return (gzip.decompress(content) if file.suffix == ".gz" else content).decode()


def raw_outages(recording: str) -> list[RawOutage]:
    """By the state of every task at every line."""
    states: dict[str, str] = {}
    job, begun, restored, found = "", 0, (0, 0), []
    for line in jobmanager_log(recording).splitlines():
        if match := RESTORED.search(line):
            restored = int(match[1]), int(match[2])
        if not (match := LINE.match(line)):
            continue
        at = round(
            datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC).timestamp()
            * 1000
        )
        if match[2].startswith("Job "):
            job = match[3]
            begun = at if job == "RESTARTING" and not begun else begun
        else:
            states[match[2].rsplit(" (", 1)[0]] = match[3]
        if begun and job == "RUNNING" and set(states.values()) == {"RUNNING"}:
            found.append(RawOutage(begun, at, *restored))
            begun = 0
    return found
