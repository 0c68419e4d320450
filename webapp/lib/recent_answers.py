"""Briefly caches answers that take seconds: parts of a page, the API and commands need the same
ones.
"""

import hashlib
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

KEPT_S = 300
STEP = timedelta(seconds=30)
"""Instants asked for within this time have one answer."""


def end_of_step(at: datetime) -> datetime:
    step_s = STEP.total_seconds()
    return datetime.fromtimestamp(-(-at.timestamp() // step_s) * step_s, at.tzinfo)


def answer_key(name: str, made_of: tuple[type[Any], ...], *question: object) -> str:
    """``made_of``: the dataclasses of the answer. Their fields are part of the key, so that another
    version's entries are not read.
    """
    shape = [[field.name for field in fields(part)] for part in made_of]
    return f"{name}:" + hashlib.sha256(repr((shape, *question)).encode()).hexdigest()
