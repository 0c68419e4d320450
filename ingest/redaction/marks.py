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
    return _QUANTITY.fullmatch(value) is not None


def looks_random(value: str) -> bool:
    """Long, of the letters of base64, and not a word."""
    return _AS_IF_RANDOM.fullmatch(value) is not None


LONGEST = 65_536
BEGIN = "-----BEGIN "
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PGP MESSAGE)(?: BLOCK)?-----")
_END = re.compile(
    r"""(?P<end>-----END\ [A-Z0-9 ]{0,40}(?:PRIVATE\ KEY|PGP\ MESSAGE)(?:\ BLOCK)?-----)
    |(?<!\\)\\*+["'<]|\n(?=\d{4}-\d\d-\d\d[ T]|\[?\d\d:\d\d:\d\d|\s{0,20}at\ [\w.$]{3,}|Caused\ by:)""",
    re.VERBOSE,
)


def redact_blocks(text: str) -> str:
    return within(text, open_before=False)[0] if BEGIN in text else text


def within(text: str, *, open_before: bool) -> tuple[str, bool]:
    """``text`` without keys, and whether one was begun and has not ended."""
    pieces: list[str] = []
    at = 0
    is_open = open_before
    while True:
        if not is_open:
            begun = _BEGIN.search(text, at)
            if begun is None:
                pieces.append(text[at:])
                return "".join(pieces), False
            pieces += text[at : begun.start()], MASK
            at = begun.end()
        ended = _END.search(text, at, at + LONGEST)
        if ended is None and len(text) - at <= LONGEST:
            return "".join(pieces) + ("\n" if text.endswith("\n") else ""), True
        at = ended.end() if ended and ended["end"] else ended.start() if ended else at + LONGEST
        is_open = False
