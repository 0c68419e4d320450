"""What a flame graph of a vertex says in one sentence: which method of the job's own code its
threads were in most of the time.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ingest.messages import message, plural
from spark_jobs.diagnosis.stack_traces import is_own

WAITS_FOR_WORK = "org.apache.flink.streaming.runtime.tasks.mailbox.TaskMailboxImpl.take"
"""A task thread without anything to do stands here."""


class Frame(NamedTuple):
    """``depth`` 0 is the root, which holds all samples; a frame comes after its parent.

    ``name``: 'a.B.method:line'.
    """

    depth: int
    name: str
    samples: int


@dataclass(frozen=True, slots=True)
class Busiest:
    """``method``: of the job's own code, innermost in ``samples`` of all; None where no sample is
    in such code.

    ``calls``: the method in which most of these samples end. ``waiting``: samples in which the
    thread waits for work.
    """

    samples: int
    method: str | None = None
    in_method: int = 0
    calls: str | None = None
    waiting: int = 0

    @property
    def share(self) -> float | None:
        return self.in_method / self.samples if self.samples else None

    @property
    def sentence(self) -> str:
        if not self.samples:
            return message("No sample was taken in this state of the threads.")
        of = message(
            "of {samples:message}",
            samples=plural(self.samples, "{count:count} sample", "{count:count} samples"),
        )
        if self.method is None:
            if self.waiting * 2 > self.samples:
                return message(
                    "{waiting:share} {of:message} show a thread that waits for work; none is in "
                    "the job's own code.",
                    waiting=self.waiting / self.samples,
                    of=of,
                )
            return message("None {of:message} is in the job's own code.", of=of)
        calls = (
            message(", calling {calls:name}", calls=self.calls)
            if self.calls and self.calls != self.method
            else ""
        )
        return message(
            "{in_method:share} {of:message} are in {method:name}{calls:message}.",
            in_method=self.in_method / self.samples,
            of=of,
            method=self.method,
            calls=calls,
        )


def busiest(frames: Iterable[Frame]) -> Busiest:
    in_order = list(frames)
    in_method: dict[str, int] = {}
    ends: dict[tuple[str, str], int] = {}
    waiting = 0
    path: list[tuple[str | None, bool]] = []
    for frame, ended in zip(in_order, _ended(in_order), strict=True):
        del path[frame.depth :]
        method = method_of(frame.name)
        own, waits = path[-1] if path else (None, False)
        own = method if frame.depth and is_own(frame.name) else own
        waits = waits or method == WAITS_FOR_WORK
        path.append((own, waits))
        waiting += ended if waits else 0
        if ended and own is not None:
            in_method[own] = in_method.get(own, 0) + ended
            ends[own, method] = ends.get((own, method), 0) + ended
    total = in_order[0].samples if in_order else 0
    if not in_method:
        return Busiest(total, waiting=waiting)
    longest = max(in_method, key=lambda one: (in_method[one], one))
    calls = max((end for end in ends if end[0] == longest), key=lambda end: (ends[end], end))
    return Busiest(total, longest, in_method[longest], calls[1], waiting)


def method_of(name: str) -> str:
    """``a.B.method`` of ``a.B.method:line``; -1 and -2 stand for a line that is not known, and for
    native code.
    """
    method, colon, line = name.rpartition(":")
    return method if colon and line.lstrip("-").isdigit() else name


def _ended(frames: list[Frame]) -> list[int]:
    ended = [frame.samples for frame in frames]
    above: list[int] = []
    for place, frame in enumerate(frames):
        del above[frame.depth :]
        if above:
            ended[above[-1]] -= frame.samples
        above.append(place)
    return ended
