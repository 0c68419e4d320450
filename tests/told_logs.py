"""Logs of a JobManager, told line by line in Flink's own form: what a public report describes, as a
recording that Weir imports.

Times are seconds after ``BEGUN``.
"""

import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from spark_jobs.serving import FINDING_OCCURRENCE
from tests.first_cycles import served
from tests.fold.recorded import in_ms
from tests.ingest.flink_logs.log_records import records_of
from tests.ingest.flink_logs.row_events import event_of
from tests.task_locations import located

BEGUN = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)
JOB = "26eb676de8b3e133f9078fabe3704eb6"
GRAPH = "a932b3badd0047fc56bb20dcdd6164f3"
VERTEX = "9c32e3838cee893dbb2fc90ccad79598"
GRAPH_LOGGER = "org.apache.flink.runtime.executiongraph.ExecutionGraph"
COORDINATOR = "org.apache.flink.runtime.checkpoint.CheckpointCoordinator"
MASTER = "org.apache.flink.runtime.jobmaster.JobMaster"
ENTRYPOINT = "org.apache.flink.runtime.entrypoint.ClusterEntrypoint"
NAME = "orders"


@dataclass
class Story:
    """One job of one vertex with two subtasks."""

    lines: list[tuple[float, str]] = field(default_factory=list)
    others: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    attempt: int = 0

    def say(
        self, at: float, text: str, logger: str = MASTER, level: str = "INFO", process: str = ""
    ) -> "Story":
        """``text`` may have a trace below its first line; ``process``: another's log."""
        stamp = f"{BEGUN + timedelta(seconds=at):%Y-%m-%d %H:%M:%S.%f}"[:-3].replace(".", ",")
        lines = self.others.setdefault(process, []) if process else self.lines
        lines.append((at, f"{stamp} {level:<5} {logger:<60} [] - {text}\n"))
        return self

    def submitted(self, at: float = 0) -> "Story":
        self.say(at, f"Received JobGraph submission '{NAME}' ({JOB}).")
        return self.state(at + 0.2, "CREATED", "RUNNING")

    def state(self, at: float, before: str, after: str, trace: str = "") -> "Story":
        text = f"Job {NAME} ({JOB}) switched from state {before} to {after}."
        return self.say(at, f"{text}\n{trace}" if trace else text, GRAPH_LOGGER)

    def deployed(self, at: float, taskmanager: str = "tm-1", runs: bool = True) -> "Story":
        """Both subtasks; ``runs``: they reach RUNNING a second later."""
        for subtask in (0, 1):
            task, execution = f"enrich ({subtask + 1}/2)", self._execution(subtask)
            self.say(
                at,
                f"Deploying {task} (attempt #{self.attempt}) with attempt id {execution} and "
                f"vertex "
                f"id {VERTEX}_{subtask} to {taskmanager} @ host-{taskmanager} (dataPort=44467) "
                f"with "
                f"allocation id {JOB}",
                GRAPH_LOGGER,
            )
            self.say(
                at + 0.1,
                f"{task} ({execution}) switched from DEPLOYING to INITIALIZING.",
                GRAPH_LOGGER,
            )
            if runs:
                self.say(
                    at + 1,
                    f"{task} ({execution}) switched from INITIALIZING to RUNNING.",
                    GRAPH_LOGGER,
                )
        return self

    def failed(
        self, at: float, trace: str, before: str = "RUNNING", taskmanager: str = "tm-1"
    ) -> "Story":
        where = (
            "[unassigned resource]"
            if before == "SCHEDULED"
            else f"{taskmanager} @ host-{taskmanager} (dataPort=44467)"
        )
        self.say(
            at,
            f"enrich (1/2) ({self._execution(0)}) switched from {before} to FAILED on {where}.\n"
            f"{trace}",
            GRAPH_LOGGER,
        )
        self.attempt += 1
        return self

    def restarts(self, at: float, after: float = 1) -> "Story":
        """The restart strategy waits ``after`` seconds."""
        self.state(at, "RUNNING", "RESTARTING")
        return self.state(at + after, "RESTARTING", "RUNNING")

    def checkpoint(self, at: float, number: int) -> "Story":
        ms = round((BEGUN.timestamp() + at) * 1000)
        self.say(
            at,
            f"Triggering checkpoint {number} (type=CheckpointType{{name='Checkpoint', "
            f"sharingFilesStrategy=FORWARD_BACKWARD}}) @ {ms} for job {JOB}.",
            COORDINATOR,
        )
        return self.say(
            at + 1,
            f"Completed checkpoint {number} for job {JOB} (10485760 bytes, "
            "checkpointDuration=1000 ms, finalizationTime=3 ms).",
            COORDINATOR,
        )

    def ended(self, at: float, trace: str, state: str = "FAILED") -> "Story":
        self.state(at, "RUNNING", "FAILING", trace)
        self.state(at + 0.1, "FAILING", state, trace)
        return self.say(at + 0.2, f"Job {JOB} reached terminal state {state}.\n{trace}")

    def lost(self, at: float, taskmanager: str, reason: str) -> "Story":
        return self.say(at, f"Closing TaskExecutor connection {taskmanager} because: {reason}")

    def written(self, folder: Path) -> Path:
        logs = folder / "logs"
        logs.mkdir(parents=True)
        for process, lines in {"jm": self.lines, **self.others}.items():
            kind = "standalonesession" if process == "jm" else "taskexecutor"
            text = "".join(line for _, line in sorted(lines, key=lambda pair: pair[0]))
            (logs / f"flink-flink-{kind}-0-{process}.log").write_text(text, encoding="utf-8")
        return folder

    def _execution(self, subtask: int) -> str:
        return f"{GRAPH}_{VERTEX}_{subtask}_{self.attempt}"


def found_in(story: Story) -> list[dict[str, Any]]:
    """Findings of the first cycle over it, in order of their windows."""
    with tempfile.TemporaryDirectory() as folder:
        recording = story.written(Path(folder) / "recording")
        rows = served(recording, Path(folder), FINDING_OCCURRENCE)
    return sorted(rows, key=lambda row: (row["window_start"], row["rule"]))


def located_rows(story: Story) -> list[dict[str, Any]]:
    """Events of the JobManager's log as the fold gets them, in order of time."""
    text = "".join(line for _, line in sorted(story.lines, key=lambda pair: pair[0]))
    records = records_of(text.encode(), file="flink-jm.log")
    rows = [
        {name: in_ms(getattr(event, name)) for name in event.__slots__}
        for event in located(filter(None, map(event_of, records)))
    ]
    return sorted(
        (row for row in rows if row["job_id"] in (JOB, None)), key=lambda row: int(row["ts"])
    )
