"""Shortens stack traces but keeps their innermost cause. A trace cut at its end keeps only Flink's
wrappers ("Could not complete snapshot …").
"""

import re

FRAMEWORK = (
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "scala.",
    "akka.",
    "org.apache.pekko.",
    "org.apache.flink.",
    "io.netty.",
    "com.sun.",
)
CAUSED = "Caused by: "
FRAME = re.compile(r"^\s+at (?:[\w.@/-]+/)?([\w.$<>]+)\(([^)]*)\)")

_HEAD_CHARS = 400
_FRAMES_KEPT = 2
_LEFT_OUT = "\t..."
_MIDDLE = " … "


def condensed(trace: str | None, most_chars: int) -> str | None:
    """First line, first frames and first own frame of each cause. Causes in the middle are left out
    if this is still too long.
    """
    if trace is None or len(trace) <= most_chars:
        return trace
    causes: list[list[str]] = [[]]
    for line in trace.splitlines():
        if line.startswith(CAUSED):
            causes.append([])
        causes[-1].append(line)
    causes = [_shorten(cause) for cause in causes if cause]
    while len(causes) > 2 and sum(len(line) + 1 for cause in causes for line in cause) > most_chars:
        del causes[1]
    if len(causes) > 1:
        innermost = "\n".join(causes[-1])[:most_chars]
        outer = "\n".join(line for cause in causes[:-1] for line in cause)[
            : max(most_chars - len(innermost) - 1, 0)
        ]
        return f"{outer}\n{innermost}" if outer else innermost
    lines = causes[0]
    return "\n".join(lines)[:most_chars] if len(lines) > 1 else without_middle(trace, most_chars)


def without_middle(message: str, most_chars: int) -> str:
    """A message often begins with a long path and ends with the error."""
    if len(message) <= most_chars:
        return message
    end = most_chars // 3
    return f"{message[: most_chars - end - len(_MIDDLE)]}{_MIDDLE}{message[len(message) - end :]}"[
        :most_chars
    ]


def is_own(frame: str) -> bool:
    """Whether a frame is of the job or its libraries."""
    return not frame.startswith(FRAMEWORK)


def _shorten(cause: list[str]) -> list[str]:
    lines, frames, has_own = [without_middle(cause[0], _HEAD_CHARS)], 0, False
    for line in cause[1:]:
        match = FRAME.match(line)
        if match is None:
            continue
        is_first_own = not has_own and is_own(match[1])
        if frames < _FRAMES_KEPT or is_first_own:
            lines.append(line[:_HEAD_CHARS])
        elif lines[-1] != _LEFT_OUT:
            lines.append(_LEFT_OUT)
        frames, has_own = frames + 1, has_own or is_first_own
    return lines
