"""Whether a job was restored from a savepoint or from a retained checkpoint.

Flink calls any snapshot that a job does not claim a savepoint, in its log and in REST; the directory has the name that its writer gave it.
"""

import re

_PLACE = re.compile(r"/(?:(?P<checkpoint>chk-\d+)|savepoint-[^/]+)(?:/_metadata)?/*$")


def is_savepoint(path: str | None, told: bool | None) -> bool | None:
    """``told``: what Flink calls it, which counts where the path does not say."""
    place = _PLACE.search(path or "")
    return told if place is None else place["checkpoint"] is None
