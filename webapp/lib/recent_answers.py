"""Keys and times for a short cache of analyses that take seconds: several parts of a page, the API
and commands need the same results.
"""

import hashlib
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

KEPT_S = 300
STEP = timedelta(seconds=30)
"""Requests within one step get the same answer."""


def end_of_step(at: datetime) -> datetime:
    step_s = STEP.total_seconds()
    return datetime.fromtimestamp(-(-at.timestamp() // step_s) * step_s, at.tzinfo)


def answer_key(name: str, made_of: tuple[type[Any], ...], *question: object) -> str:
    """``made_of``: the dataclasses of the answer. Their fields are part of the key: entries of
    another version of Weir are not read.
    """
    shape = [[field.name for field in fields(part)] for part in made_of]
    return f"{name}:" + hashlib.sha256(repr((shape, *question)).encode()).hexdigest()
