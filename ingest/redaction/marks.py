"""What stands where a secret was removed, and how to distinguish it, and other harmless values,
from one.
"""

import re

MASK = "******"
"""As Flink itself writes it."""

_HARMLESS = re.compile(
    r"""\*{3,}|\[?(?:hidden|redacted|removed|masked|protected)\]?
    |<(?:hidden|redacted|removed|secret|masked|password|token)>
    |null|none|nil|undefined|true|false|n/a|\$\{[\w.:]+\}|\$[A-Z][A-Z_]+|\$\([^()]*\)
    |\{\{[^{}]*\}\}|%[A-Z_]+%|\[Ljava\S*""",
    re.IGNORECASE | re.VERBOSE,
)
_QUANTITY = re.compile(
    r"[-+]?\d[\d.,_]{0,12}\s?"
    r"(?:ns|us|ms|s|secs?|min|m|h|d|days?|hours?|minutes?|seconds?|b|kb|mb|gb|bytes|%|/s)?",
    re.IGNORECASE,
)
_AS_IF_RANDOM = re.compile(r"(?=[^\d=]*[\d=])[A-Za-z0-9+/_.~=%*-]{12,}")


def is_harmless(value: str) -> bool:
    """Nothing, a placeholder, or removed already."""
    return not value or _HARMLESS.fullmatch(value) is not None


def is_quantity(value: str) -> bool:
    """A number, perhaps with a unit."""
    return _QUANTITY.fullmatch(value) is not None


def looks_random(value: str) -> bool:
    """Long, of the letters of base64, and not a word."""
    return _AS_IF_RANDOM.fullmatch(value) is not None
