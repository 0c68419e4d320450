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
        beneath.like(made, around, beneath.AS_AROUND)
    finally:
        os.close(made)
