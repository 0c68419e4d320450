import re
from collections.abc import Mapping
from typing import Any

_NUMBERS = re.compile(r"[0-9]+(?:[-_.:T]?[0-9]+)*Z?")


def family(job: Mapping[str, Any]) -> str:
    """``orders-17``, ``orders-2026-11-21`` → ``orders-#``; "" if the job has no name."""
    return _NUMBERS.sub("#", job["name"] or "")
