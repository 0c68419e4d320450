import os
from pathlib import Path

from ingest import beneath


def make(folder: Path) -> None:
    """With missing parents. Each gets its parent's mode, without writing for everybody, and its
    owner if permitted.
    """
    if folder.is_dir():
        return
    make(folder.parent)
    around = folder.parent.stat()
    try:
        folder.mkdir()
    except FileExistsError:
        return
    made = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        beneath.copy_mode(made, around, beneath.PARENT_MODE_BITS)
    finally:
        os.close(made)
