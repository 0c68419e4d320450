"""Checkpoints of each job by the raw lines of a JobManager's log, read in the plainest way: shares
no code with the product.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

_TRIGGERED = re.compile(r"Triggering checkpoint (\d+) \(.*\) @ (\d+) for job (\w{32})\.")
_COMPLETED = re.compile(r"Completed checkpoint (\d+) for job (\w{32}) \((\d+) bytes")
_DECLINED = re.compile(r"^(\S+ \S+) .*Decline checkpoint (\d+) by task \S+ of job (\w{32}) ")


@dataclass
class RawCheckpoints:
    """Of one job, by number.

    ``completed``: its bytes; ``declined_ms``: when the JobManager heard of the first decline.
    """

    triggered_ms: dict[int, int] = field(default_factory=dict)
    completed: dict[int, int] = field(default_factory=dict)
    declined_ms: dict[int, int] = field(default_factory=dict)


def raw_checkpoints(logs: Path) -> dict[str, RawCheckpoints]:
    """By job id."""
    found: dict[str, RawCheckpoints] = defaultdict(RawCheckpoints)
    (log,) = logs.glob("*standalonesession*.log")
    for line in log.read_text().splitlines():
        if match := _TRIGGERED.search(line):
            found[match[3]].triggered_ms[int(match[1])] = int(match[2])
        elif match := _COMPLETED.search(line):
            found[match[2]].completed[int(match[1])] = int(match[3])
        elif match := _DECLINED.search(line):
            at = datetime.strptime(match[1], "%Y-%m-%d %H:%M:%S,%f").replace(tzinfo=UTC)
            found[match[3]].declined_ms.setdefault(int(match[2]), round(at.timestamp() * 1000))
    return dict(found)
