import os
from pathlib import Path

from ingest import beneath


def make(folder: Path) -> None:
    """Make a directory and its missing parents. Each gets the mode of its parent, except that not
    everybody may write, and the owner if permitted.
    """
    if folder.is_dir():
        return
    make(folder.parent)
    parent_stat = folder.parent.stat()
    try:
        folder.mkdir()
    except FileExistsError:
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        beneath.copy_mode(descriptor, parent_stat, beneath.PARENT_MODE_BITS)
    finally:
        os.close(descriptor)
