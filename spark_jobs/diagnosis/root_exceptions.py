import re
from dataclasses import dataclass

from ingest.messages import message
from spark_jobs.diagnosis.stack_traces import CAUSED, FRAME, is_own

UNREPORTED = message("no exception reported")
UNKNOWN_CAUSE = message(
    "What made it fail is not known: neither REST nor the log has an exception."
)
WRAPPER = "org.apache.flink.util.SerializedThrowable: "

_QUOTED = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|\[[^\]\n]*\]")
_NUMBERED = re.compile(r"[0-9a-fA-F-]*[0-9][0-9a-fA-F]*")

# Messages of a lost TaskManager in traces of all releases.
_LOSS_MESSAGES = (
    re.compile(
        r"TaskManager with id ([^\s()]+?)(?:\([^)\n]*\))? (?:timed out|is no longer reachable)"
    ),
    re.compile(
        r"(?:remote|Lost connection to) task manager '[^'\n]*\[ ?([^\s()\]]+)(?:\([^)\n]*\))? ?\]"
    ),
    re.compile(r"(?:remote task manager|remote host) '([^'\n]+)'"),
    re.compile(r"TaskExecutor ([^\s()]+) (?:was|has been) (?:lost|disconnected)"),
)
# The TaskManager lives: it sent this error.
_SENT_BY_PEER = "Error at remote task manager"
_UNREACHABLE = (
    "RecipientUnreachableException",
    "TaskManager was lost",
    "TaskExecutor is shutting down",
    "no longer reachable",
)
_HOST_ERRORS = re.compile(
    r"No space left on device|Too many open files|Input/output error|Read-only file system"
    r"|unable to create (?:new )?native thread|Cannot allocate memory|UnknownHostException"
    r"|Stale file handle"
)
_CONNECTOR_PACKAGE = "org.apache.flink.connector"


@dataclass(frozen=True)
class RootException:
    """Class, message and first own frame ('a.Enrich.map(Enrich.java:7)') of the innermost cause."""

    name: str
    message: str
    frame: str | None

    @property
    def group(self) -> str:
        """Class and own frame; without a frame, class and message without quotes and numbers."""
        return (
            message("{name:name} at {frame:name}", name=self.name, frame=self.frame)
            if self.frame
            else f"{self.name}: {unnumbered(self.message)}"
        )

    @property
    def is_wrapper(self) -> bool:
        """Whether the cause in Flink's wrapper is unknown."""
        return self.frame is None and self.name.startswith("org.apache.flink.")


def root_of(name: str, stacktrace: str | None) -> RootException:
    """A trace does not repeat frames that a cause shares with the exception around it ('... 17
    more'). If the cause has no own frame left, the last own frame before it counts.
    """
    lines = (stacktrace or "").splitlines()
    if not lines:
        return RootException(name, "", None)
    head, frame, last_own = lines[0], None, None
    for line in lines[1:]:
        stripped = line.strip()
        if stripped.startswith(CAUSED):
            head, frame = stripped.removeprefix(CAUSED), None
        elif frame is None and (match := FRAME.match(line)) and is_own(match[1]):
            frame = last_own = f"{match[1]}({match[2]})"
    head = head.removeprefix(WRAPPER)
    exception, _, text = head.partition(": ")
    return RootException(exception.strip() or name, text.strip(), frame or last_own)


def fails_by_host(name: str, stacktrace: str | None) -> bool:
    """Whether the machine or the JVM may be the cause."""
    root = root_of(name, stacktrace)
    if _HOST_ERRORS.search(f"{root.name}: {root.message}"):
        return True
    return (
        root.frame is None
        and root.name.startswith(("java.lang.", "java.io.", "java.nio.", "org.apache.flink."))
        and root.name != "java.lang.OutOfMemoryError"
        and _CONNECTOR_PACKAGE not in (stacktrace or "")
    )


def unnumbered(message: str) -> str:
    return _NUMBERED.sub("#", _QUOTED.sub("…", message))[:200].strip()


def lost_taskmanager(stacktrace: str | None) -> str | None:
    """Resource id or address of the TaskManager; None if the trace reports no loss."""
    if _SENT_BY_PEER in (stacktrace or ""):
        return None
    for pattern in _LOSS_MESSAGES:
        match = pattern.search(stacktrace or "")
        if match:
            return match[1].strip()
    return None


def is_lost_taskmanager(name: str, stacktrace: str | None) -> bool:
    text = f"{name}\n{(stacktrace or '')[:4000]}"
    return lost_taskmanager(stacktrace) is not None or any(piece in text for piece in _UNREACHABLE)
