"""A recording as it was when the question is asked: what came later is cut off. Names of jobs and
of the folder that it was played in tell the incident, so others stand for them.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.raw_outages import text_of

FIXTURES = Path(__file__).parents[2] / "fixtures"
STAMP = re.compile(r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}) ", re.MULTILINE)
JOB = re.compile(r"""(?:"name":"|\b[Jj]ob '?)(lab-[\w-]+)""")


@dataclass(frozen=True)
class Recorded:
    """``answers``: of Flink, in order of time (``ts``: seconds since 1970). ``logs``: name of a
    file → its text. ``others``: what stands for the name of a job.
    """

    at: datetime
    answers: tuple[dict[str, Any], ...]
    logs: dict[str, str]
    others: dict[str, str]

    def write(self, folder: Path) -> None:
        """As a recording that can be imported."""
        (folder / "logs").mkdir(parents=True)
        lines = (json.dumps(answer) + "\n" for answer in self.answers)
        (folder / "rest.jsonl").write_text("".join(lines), encoding="utf-8")
        for name, text in self.logs.items():
            (folder / "logs" / name).write_text(text, encoding="utf-8")


def recorded(recording: str, after_s: float | None = None) -> Recorded:
    """``recording``: below ``tests/fixtures``. It ends ``after_s`` after Flink's first answer, or
    where somebody cancelled its job.
    """
    folder = FIXTURES / recording
    rest = "".join(map(text_of, folder.glob("rest.jsonl*")))
    logs = {path.name.removesuffix(".gz"): text_of(path) for path in sorted(folder.glob("logs/*"))}
    run = f"{folder.parent.name}-{folder.name}-"
    names = sorted(set(JOB.findall("\n".join((rest, *logs.values())))), key=len, reverse=True)
    others = {name: f"job-{number}" for number, name in enumerate(names, 1)}
    told = re.compile("|".join(map(re.escape, (*others, run))))

    def masked(text: str) -> str:
        return told.sub(lambda match: others.get(match[0], "run-"), text)

    answers = sorted(map(json.loads, masked(rest).splitlines()), key=lambda one: one["ts"])
    at = min(_ends(folder, [one["ts"] for one in answers], logs, after_s))
    return Recorded(
        at,
        tuple(one for one in answers if one["ts"] <= at.timestamp()),
        {name: _before(masked(text), at) for name, text in logs.items()},
        others,
    )


def _ends(
    folder: Path, answered_s: list[float], logs: dict[str, str], after_s: float | None
) -> Iterator[datetime]:
    if answered_s:
        yield datetime.fromtimestamp(answered_s[-1], UTC)
    else:
        yield max(_instant(stamp) for text in logs.values() for stamp in STAMP.findall(text))
    if after_s is not None:
        yield datetime.fromtimestamp(answered_s[0] + after_s, UTC)
    for events in folder.glob("events.jsonl"):
        for event in map(json.loads, text_of(events).splitlines()):
            if event["event"] == "cancel":
                yield datetime.fromtimestamp(event["ts"], UTC)


def _before(log: str, at: datetime) -> str:
    later = (match.start() for match in STAMP.finditer(log) if _instant(match[1]) > at)
    return log[: next(later, len(log))]


def _instant(stamp: str) -> datetime:
    return datetime.strptime(f"{stamp}+0000", "%Y-%m-%d %H:%M:%S,%f%z")
