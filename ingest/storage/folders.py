"""Folders in other people's storage: made as the ones around them are, whatever this process may
show of its own files.
"""

import os
from pathlib import Path

from ingest import beneath


def make(folder: Path) -> None:
    """With its parents; each new one has the mode of the folder it is in, less writing for
    everybody, and its owner where that is allowed.
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
