"""Units that are counted, with their plural in each language."""

from collections.abc import Callable

from django.utils.translation import ngettext

COUNTED: dict[str, Callable[[int], str]] = {
    "bytes": lambda count: ngettext("{count} byte", "{count} bytes", count),
    "checkpoints": lambda count: ngettext("{count} checkpoint", "{count} checkpoints", count),
    "cycles": lambda count: ngettext("{count} cycle", "{count} cycles", count),
    "days": lambda count: ngettext("{count} day", "{count} days", count),
    "elements": lambda count: ngettext("{count} element", "{count} elements", count),
    "episodes": lambda count: ngettext("{count} episode", "{count} episodes", count),
    "failures": lambda count: ngettext("{count} failure", "{count} failures", count),
    "files": lambda count: ngettext("{count} file", "{count} files", count),
    "intervals": lambda count: ngettext("{count} interval", "{count} intervals", count),
    "jobs": lambda count: ngettext("{count} job", "{count} jobs", count),
    "records": lambda count: ngettext("{count} record", "{count} records", count),
    "time-outs": lambda count: ngettext("{count} time-out", "{count} time-outs", count),
    "times": lambda count: ngettext("{count} time", "{count} times", count),
}
"""Unit → function from a number to a text that contains ``{count}``."""
