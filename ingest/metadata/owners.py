import re

_JOB_ID = re.compile(r"[0-9a-f]{32}")
_CHECKPOINT_DIRECTORY = re.compile(r"/chk-\d+$")


def owner_directory(directory: str) -> str:
    """The job's directory for ``…/<job>/chk-N``. A savepoint's directory owns itself."""
    return directory.rpartition("/")[0] if _CHECKPOINT_DIRECTORY.search(directory) else directory


def job_id_of(directory: str) -> str | None:
    name = directory.rpartition("/")[2]
    return name if _JOB_ID.fullmatch(name) else None
