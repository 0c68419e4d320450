from collections.abc import Mapping
from datetime import datetime
from typing import Any


def is_due(now_s: float, last_s: float, every_s: float) -> bool:
    """True also if ``last_s`` lies ahead, since then the clock was set back."""
    return not 0 <= now_s - last_s < every_s


def waiting(now: datetime, wait_s: float) -> dict[str, Any]:
    """The part of a cursor that ``still_waits`` reads."""
    return {"due_at": now.timestamp() + wait_s, "wait_s": wait_s}


def still_waits(cursor: Mapping[str, Any], now: datetime) -> bool:
    """False also if more than the wait is left: then the clock was set back."""
    match cursor:
        case {"due_at": int() | float() as due_at, "wait_s": int() | float() as wait_s}:
            return 0 < due_at - now.timestamp() <= wait_s
    return False
