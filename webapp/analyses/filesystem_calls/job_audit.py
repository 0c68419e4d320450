"""What audit logs have of one job's calls, for each of its newest checkpoints, beside what was
expected of one.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from spark_jobs.filesystem_calls.calls import AUDITED, Calls
from webapp.analyses.filesystem_calls.audit_logs import COLUMNS, MOST_ROWS, TABLE, Row, once_each
from webapp.checkpoints.models import CheckpointFact
from webapp.fleet.models import JobCurrent
from webapp.work.lake import read_newest

log = logging.getLogger(__name__)

NEWEST = 50
LOOK_BACK = timedelta(hours=6)


@dataclass(frozen=True)
class KindSeen:
    """Of one checkpoint. ``expected``: None for a kind that taking checkpoints does not need."""

    cmd: str
    calls: int
    per_checkpoint: float
    expected: int | None


@dataclass(frozen=True)
class JobAudit:
    """Calls from the trigger of one checkpoint to that of another, ``checkpoints`` later.
    ``burst``: in the worst second. ``callers``: by address, most calls first.
    """

    start: datetime
    end: datetime
    checkpoints: int
    calls: int
    expected_per_checkpoint: int
    burst: int
    burst_at: datetime | None
    kinds: Sequence[KindSeen]
    callers: Mapping[str, int]

    @property
    def per_checkpoint(self) -> float:
        return self.calls / self.checkpoints


def job_audit(job: JobCurrent, expected: Calls) -> JobAudit | None:
    """None where no audit log has calls of the job, or it took fewer than two checkpoints.

    Whole seconds, as the log has them.
    """
    facts = CheckpointFact.objects.filter(cluster=job.cluster, job_id=job.job_id).exclude(
        is_savepoint=True
    )
    triggers = sorted(
        facts.order_by("-trigger_time").values_list("trigger_time", flat=True)[:NEWEST]
    )
    if len(triggers) < 2:
        return None
    end = triggers[-1].replace(microsecond=0)
    start = max(triggers[0].replace(microsecond=0), end - LOOK_BACK)
    try:
        lines, since = read_newest(TABLE, {"job_id": job.job_id}, start, end, COLUMNS, MOST_ROWS)
    except Exception:  # The lake may be any storage, with any error.
        log.exception("Calls of %s on %s could not be read from the lake", job.job_id, job.cluster)
        return None
    rows = _of_one_reader(once_each(lines.to_pylist()))
    read = [
        trigger.replace(microsecond=0)
        for trigger in triggers
        if trigger.replace(microsecond=0) >= since
    ]
    # Of the time before it was read, an audit log has nothing.
    first = min((row["ts"] for row in rows), default=end)
    read = [instant for instant in read if instant >= first - timedelta(seconds=1)]
    if len(read) < 2:
        return None
    return _summed(
        [row for row in rows if read[0] <= row["ts"] < end], read[0], end, len(read) - 1, expected
    )


def _of_one_reader(rows: Sequence[Row]) -> list[Row]:
    """Where audit logs of one NameNode are declared on several clusters, each has them: the one
    with most counts.
    """
    calls: Counter[str] = Counter()
    for row in rows:
        calls[row["cluster"]] += row["calls"]
    most = max(sorted(calls), key=calls.__getitem__, default="")
    return [row for row in rows if row["cluster"] == most]


def _summed(
    rows: Sequence[Row], start: datetime, end: datetime, checkpoints: int, expected: Calls
) -> JobAudit | None:
    kinds, seconds, callers = Counter[str](), Counter[datetime](), Counter[str]()
    for row in rows:
        kinds[row["cmd"]] += row["calls"]
        seconds[row["ts"]] += row["calls"]
        callers[row["address"]] += row["calls"]
    if not kinds:
        return None
    wanted = {cmd: getattr(expected, kind) for kind, cmd in AUDITED.items()}
    seen = sorted(
        {*kinds, *(cmd for cmd, calls in wanted.items() if calls)},
        key=lambda cmd: (-kinds[cmd], cmd),
    )
    burst_at = max(sorted(seconds), key=seconds.__getitem__)
    return JobAudit(
        start,
        end,
        checkpoints,
        sum(kinds.values()),
        expected.audited,
        seconds[burst_at],
        burst_at,
        [
            KindSeen(cmd, kinds[cmd], kinds[cmd] / checkpoints, wanted.get(cmd) or None)
            for cmd in seen
        ],
        dict(callers.most_common(20)),
    )
