"""What the person in front of the terminal reads: one plain line per step, also when it is a file."""

import os
import sys
import threading

_one_at_a_time = threading.Lock()


def say(text: str = "") -> None:
    """Print a line at once; several threads may speak, a closed terminal is not an error."""
    with _one_at_a_time:
        try:
            print(text, flush=True)
        except (OSError, ValueError):
            # The terminal is gone; the supervisor gets SIGHUP, and stops in good order.
            sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")


def say_step(name: str, outcome: str, seconds: float | None = None) -> None:
    took = "" if seconds is None else f" ({seconds:.1f} s)"
    say(f"  {name:<22} {outcome}{took}")
