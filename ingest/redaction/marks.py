import re

MASK = "******"

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
_RANDOM = re.compile(r"(?=[^\d=]*[\d=])[A-Za-z0-9+/_.~=%*-]{12,}")


def is_harmless(value: str) -> bool:
    return not value or _HARMLESS.fullmatch(value) is not None


def is_quantity(value: str) -> bool:
    return _QUANTITY.fullmatch(value) is not None


def looks_random(value: str) -> bool:
    """Whether the value is long, of base64 characters, and has a digit or ``=``."""
    return _RANDOM.fullmatch(value) is not None


LONGEST = 65_536
BEGIN = "-----BEGIN "
_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}(?:PRIVATE KEY|PGP MESSAGE)(?: BLOCK)?-----")
_END = re.compile(
    r"""(?P<end>-----END\ [A-Z0-9 ]{0,40}(?:PRIVATE\ KEY|PGP\ MESSAGE)(?:\ BLOCK)?-----)
    |(?<!\\)\\*+["'<]|\n(?=\d{4}-\d\d-\d\d[ T]|\[?\d\d:\d\d:\d\d|\s{0,20}at\ [\w.$]{3,}|Caused\ by:)""",
    re.VERBOSE,
)


def redact_blocks(text: str) -> str:
    return redact_keys(text, open_before=False)[0] if BEGIN in text else text


def redact_keys(text: str, *, open_before: bool) -> tuple[str, bool]:
    """``text`` with private keys masked, and whether it ends inside a key. ``open_before``: it
    begins inside a key.
    """
    pieces: list[str] = []
    at = 0
    is_open = open_before
    while True:
        if not is_open:
            begin = _BEGIN.search(text, at)
            if begin is None:
                pieces.append(text[at:])
                return "".join(pieces), False
            pieces += text[at : begin.start()], MASK
            at = begin.end()
        end = _END.search(text, at, at + LONGEST)
        if end is None and len(text) - at <= LONGEST:
            return "".join(pieces) + ("\n" if text.endswith("\n") else ""), True
        if end is None:
            at += LONGEST
        else:
            at = end.end() if end["end"] else end.start()
        is_open = False
