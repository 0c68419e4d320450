import re
from typing import Any

_SIZE = re.compile(r"(\d{1,12})\s*([kmg]?)(?:i?b(?:ytes)?)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def whole(text: Any, default: int) -> int:
    """A number of at most six digits, else ``default``."""
    digits = str(text or "").strip()
    return int(digits) if re.fullmatch(r"\d{1,6}", digits) else default


def size_bytes(text: Any, default: int) -> int:
    """``32kb``, ``32 kb``, ``32768``: Flink's memory sizes are powers of two."""
    match = _SIZE.fullmatch(str("" if text is None else text).strip())
    return int(match[1]) * _UNITS[match[2].lower()] if match else default
