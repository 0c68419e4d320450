"""Shortens stack traces but keeps their innermost cause: cut at its end, a trace would keep Flink's
wrappers ("Could not complete snapshot …") and lose it.
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
    """The first line, first frames and first own frame of each cause; if these do not fit either,
    without the causes in the middle.
    """
    if trace is None or len(trace) <= most_chars:
        return trace
    parts: list[list[str]] = [[]]
    for line in trace.splitlines():
        if line.startswith(CAUSED):
            parts.append([])
        parts[-1].append(line)
    kept = [_kept_frames(part) for part in parts if part]
    while len(kept) > 2 and sum(len(line) + 1 for part in kept for line in part) > most_chars:
        del kept[1]
    if len(kept) > 1:
        # The innermost cause is the one that matters.
        innermost = "\n".join(kept[-1])[:most_chars]
        before = "\n".join(line for part in kept[:-1] for line in part)[
            : max(most_chars - len(innermost) - 1, 0)
        ]
        return f"{before}\n{innermost}" if before else innermost
    return (
        "\n".join(kept[0])[:most_chars] if len(kept[0]) > 1 else without_middle(trace, most_chars)
    )


def without_middle(message: str, most_chars: int) -> str:
    """A path of any length comes first in a message, the error last."""
    if len(message) <= most_chars:
        return message
    end = most_chars // 3
    return f"{message[: most_chars - end - len(_MIDDLE)]}{_MIDDLE}{message[len(message) - end :]}"[
        :most_chars
    ]


def is_own(frame: str) -> bool:
    return not frame.startswith(FRAMEWORK)


def _kept_frames(part: list[str]) -> list[str]:
    kept, frames, own = [without_middle(part[0], _HEAD_CHARS)], 0, False
    for line in part[1:]:
        match = FRAME.match(line)
        if match is None:
            continue
        first_own = not own and is_own(match[1])
        if frames < _FRAMES_KEPT or first_own:
            kept.append(line[:_HEAD_CHARS])
        elif kept[-1] != _LEFT_OUT:
            kept.append(_LEFT_OUT)
        frames, own = frames + 1, own or first_own
    return kept
