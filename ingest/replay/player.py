"""Plays a recording over and over as a running cluster. In each turn, jobs have new ids."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.json_members import as_list
from ingest.replay.checkpoint_tree import CheckpointTree, savepoint_names
from ingest.replay.shipped import CHECKPOINTS, PAST
from ingest.replay.tape import LEAD_MS, Shift, Tape, id_of

TURNS_KEPT = 3
GAP_MS = 2 * LEAD_MS
LINGER_MS = 60_000

JOBMANAGER = "standalonesession"

_DEBUG = re.compile(rb"\S+ \S+ DEBUG ")
_JOB_PATH = re.compile(r"^/jobs/([0-9a-f]{32})(?=$|/|\?)")


@dataclass(slots=True)
class Turn:
    """One pass through the tape. ``began_ms``: when it began, in present time."""

    began_ms: int
    ids: dict[str, str]
    shift: Shift
    logs: dict[Path, Iterator[tuple[int, bytes]]] = field(default_factory=dict)
    waiting: dict[Path, tuple[int, bytes]] = field(default_factory=dict)


class Player:
    """``names``: job name of the recording → name to show. ``rest_ms``: time between turns.
    ``past_ms``: age of a past turn, whose checkpoints stay; 0 for none. A new player continues the
    turns in ``folder``.
    """

    def __init__(
        self, tape: Tape, names: Mapping[str, str], folder: Path, rest_ms: int = 0, past_ms: int = 0
    ) -> None:
        self.tape, self._names, self._folder = tape, names, folder
        self._rest_ms, self._past_ms = max(rest_ms, GAP_MS), past_ms
        self._logs, checkpoints = folder / "logs", folder / CHECKPOINTS
        for directory in (self._logs, checkpoints):
            directory.mkdir(parents=True, exist_ok=True)
        self._tree = CheckpointTree(tape.folder, checkpoints)
        self._removed: set[int] = set()
        self.turns: list[Turn] = [
            self._turn(began_ms) for began_ms in self._saved_turns_ms("turns.json")
        ]
        self._past = [self._turn(began_ms) for began_ms in self._saved_turns_ms(PAST)]

    def tick(self, now_ms: int, *, awake: bool = True, writes_checkpoints: bool = True) -> None:
        if self._past_ms and not self._past:
            self._report_past(now_ms - self._past_ms)
        if not self.turns:
            first_ms = now_ms - self.tape.length_ms * 3 // 5 - self.tape.length_ms - GAP_MS
            self._begin(first_ms)
        while awake and now_ms >= (
            next_ms := self.turns[-1].began_ms + self.tape.length_ms + self._rest_ms
        ):
            self._write(next_ms)
            is_late = now_ms - next_ms > self.tape.length_ms
            self._begin(now_ms if is_late else next_ms)
        self._write(now_ms)
        if writes_checkpoints:
            self._write_checkpoints(now_ms)

    def answer(self, path: str, now_ms: int) -> tuple[int, bytes]:
        if path == "/jobs/overview":
            return 200, self._overview(now_ms)
        turn, recorded_path = self._find_turn(path)
        if turn is None:
            return _error(404, f"Job {path.split('/')[2]} not found")
        at_ms = self._recorded_ms(turn, now_ms)
        owner, is_metrics, query = recorded_path.partition("/metrics?get=")
        if is_metrics:
            values = self.tape.metrics(owner, query.split(","), at_ms)
            status_and_body: tuple[int, Any] | None = None if values is None else (200, values)
        else:
            status_and_body = self.tape.answer(recorded_path, at_ms)
        if status_and_body is None:
            return _error(404, f"Not found: {path}")
        return status_and_body[0], turn.shift.text(_encode(status_and_body[1]))

    def _overview(self, now_ms: int) -> bytes:
        jobs: list[bytes] = []
        for turn in (*self._past, *self.turns):
            answer = self.tape.answer("/jobs/overview", self._recorded_ms(turn, now_ms))
            listed_jobs = answer[1].get("jobs", []) if answer else []
            jobs += [turn.shift.text(_encode(job)) for job in listed_jobs]
        return b'{"jobs":[' + b",".join(jobs) + b"]}"

    def _find_turn(self, path: str) -> tuple[Turn | None, str]:
        match = _JOB_PATH.match(path)
        if not match:
            return self.turns[-1], path
        for turn in (*self.turns, *self._past):
            for recorded, played_id in turn.ids.items():
                if played_id == match[1]:
                    return turn, path.replace(played_id, recorded)
        return None, path

    def _recorded_ms(self, turn: Turn, now_ms: int) -> int:
        return min(now_ms - turn.shift.by_ms, self.tape.ended_ms)

    def _turn(self, began_ms: int) -> Turn:
        ids = {recorded: id_of(recorded, began_ms) for recorded in self.tape.jobs}
        names = {
            old.encode(): new.encode()
            for old, new in (dict(self._names) | savepoint_names(ids) | ids).items()
        }
        return Turn(began_ms, ids, Shift(began_ms - self.tape.began_ms, self.tape.began_ms, names))

    def _report_past(self, began_ms: int) -> None:
        turn = self._turn(began_ms)
        for log in self.tape.logs:
            if JOBMANAGER in log.name:
                lines = (
                    turn.shift.line(line)
                    for _at_ms, line in self.tape.lines(log, 0)
                    if not _DEBUG.match(line)
                )
                (self._logs / f"{log.name}.{TURNS_KEPT}").write_bytes(b"".join(lines))
        self._tree.show_end(turn.shift.by_ms, turn.ids)
        self._past = [turn]
        self._save_turns(PAST, self._past)

    def _begin(self, began_ms: int) -> None:
        from_ms = self.tape.began_ms - LEAD_MS if self.turns else 0
        turn = self._turn(began_ms)
        turn.logs = {log: self.tape.lines(log, from_ms) for log in self.tape.logs}
        self.turns = [*self.turns, turn][-TURNS_KEPT:]
        for log in self.tape.logs:
            self._roll(log.name)
        self._save_turns("turns.json", self.turns)

    def _save_turns(self, name: str, turns: list[Turn]) -> None:
        draft = self._folder / f"{name}.new"
        draft.write_text(json.dumps([turn.began_ms for turn in turns]))
        draft.replace(self._folder / name)

    def _saved_turns_ms(self, name: str) -> list[int]:
        try:
            turns = json.loads((self._folder / name).read_text())
        except (OSError, ValueError):
            return []
        return [began_ms for began_ms in as_list(turns) if isinstance(began_ms, int)]

    def _roll(self, name: str) -> None:
        for number in range(TURNS_KEPT - 1, 0, -1):
            older = self._logs / (f"{name}.{number - 1}" if number > 1 else name)
            if older.exists():
                older.replace(self._logs / f"{name}.{number}")

    def _write_checkpoints(self, now_ms: int) -> None:
        *earlier_turns, turn = self.turns
        if now_ms - turn.began_ms > LINGER_MS:
            for earlier in earlier_turns:
                if earlier.began_ms not in self._removed:
                    self._tree.remove(earlier.ids)
                    self._removed.add(earlier.began_ms)
        self._tree.show(now_ms - turn.shift.by_ms, turn.shift.by_ms, turn.ids)

    def _write(self, now_ms: int) -> None:
        turn = self.turns[-1]
        for log in list(turn.logs):
            if lines := b"".join(self._due(turn, log, now_ms)):
                with (self._logs / log.name).open("ab") as file:
                    file.write(lines)

    def _due(self, turn: Turn, log: Path, now_ms: int) -> Iterator[bytes]:
        due = turn.waiting.pop(log, None)
        while due := due or next(turn.logs[log], None):
            if due[0] + turn.shift.by_ms > now_ms:
                turn.waiting[log] = due
                return
            yield turn.shift.line(due[1])
            due = None
        del turn.logs[log]


def _encode(body: Any) -> bytes:
    return json.dumps(body, separators=(",", ":")).encode()


def _error(status: int, text: str) -> tuple[int, bytes]:
    return status, _encode({"errors": [text]})
