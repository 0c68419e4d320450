"""Families of jobs: names that differ only by a number or a date."""

import re
from collections.abc import Mapping
from typing import Any

_NUMBERS = re.compile(r"[0-9]+(?:[-_.:T]?[0-9]+)*Z?")


def family(job: Mapping[str, Any]) -> str:
    """``orders-17``, ``orders-2026-11-21`` → ``orders-#``; "" of a job without a name."""
    return _NUMBERS.sub("#", job["name"] or "")
