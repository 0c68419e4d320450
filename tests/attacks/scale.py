"""How much of an attack is played: a short form by ``make test``, all of it by ``make attack``."""

import os

FULL = os.environ.get("WEIR_ATTACK", "") == "full"


def examples(short: int, full: int) -> int:
    return full if FULL else short
