"""Weir's files are private to its user, unless ``WEIR_UMASK`` admits a group."""

import os
import re
from collections.abc import Mapping

from ingest.errors import Refused

DEFAULT = "077"
EXPECTED = (
    "an octal mask that closes files to all others, such as 077, or 027 where a group may read"
)


def is_mask(text: str) -> bool:
    return bool(re.fullmatch(r"0?[0-7]{0,2}7", text)) and int(text, 8) & 0o700 == 0


def mask_of(environment: Mapping[str, str]) -> str:
    mask = environment.get("WEIR_UMASK") or DEFAULT
    if not is_mask(mask):
        raise Refused(
            f"The environment variable WEIR_UMASK is {mask[:80]!r}, but must be {EXPECTED}."
        )
    return f"{int(mask, 8):03o}"


def keep_private(environment: Mapping[str, str]) -> None:
    os.umask(int(mask_of(environment), 8))


def hadoop_umask(environment: Mapping[str, str]) -> dict[str, str]:
    """Settings of Spark, since Hadoop ignores the umask of the process."""
    return {"spark.hadoop.fs.permissions.umask-mode": mask_of(environment)}
