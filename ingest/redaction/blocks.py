"""Private keys in PEM: on lines of their own, with ``\\n`` in a text, cut off, and in logs that are
read piece by piece.
"""

import re

from ingest.redaction.marks import MASK

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
    """``text`` without keys, and whether one was begun and has not ended.

    ``open_before``: it begins inside of one.
    """
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
