"""What the commands that print files have in common."""

import os
import sys
from collections.abc import Iterable, Sequence

from ingest.records import Skip


def print_all(lines: Iterable[str], skips: Sequence[Skip]) -> int:
    """Prints the lines, then what was skipped meanwhile on stderr; returns the exit code."""
    try:
        for line in lines:
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (head, a pager) has read enough; Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    for skip in skips:
        print(f"skipped {skip.subject}: {skip.detail}", file=sys.stderr)
    return 1 if skips else 0
