"""Names of files in a copy: below the id of the writing job. A name always means the same bytes, so
the name of a growing file includes the copied size.
"""

import hashlib
import re

from ingest.errors import Refused
from ingest.storage.layout import JOB_DIRECTORY
from ingest.uris import is_below
from spark_jobs.replication.needs import Need

RECORDS = "_weir"
"""Directory of plans and records in a copy. No job has this id."""
NO_JOB = "other"
_JOB = re.compile(JOB_DIRECTORY)


def copy_name(path: str) -> str:
    """The name in the copy of a canonical original ``path``."""
    match = _JOB.match(path)
    if match:
        return path[len(match[1]) - len(match[2]) :]
    parent, _, name = path.rpartition("/")
    return f"{NO_JOB}/{hashlib.sha256(parent.encode()).hexdigest()[:16]}/{name}"


def names_of(needs: dict[str, Need], directory: str, moved_to: str) -> dict[str, str]:
    """Path → name. ``directory`` becomes ``moved_to``. Raises Refused if a name repeats."""
    names: dict[str, str] = {}
    paths: dict[str, str] = {}
    for path, need in needs.items():
        if is_below(path, directory):
            name = f"{moved_to}{path[len(directory) :]}"
        else:
            name = copy_name(path) + ("" if need.whole else f"-{need.bytes}")
        first = paths.setdefault(name, path)
        if first != path:
            raise Refused(
                f"{first} and {path} would have one name in the copy; both are of one job id. "
                "Nothing is copied."
            )
        names[path] = name
    return names
