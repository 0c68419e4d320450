"""Where the garbage collector would walk over the same objects again and again: many small rows at
once, and all that is imported.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


def keep_what_is_imported() -> None:
    """It stays as it is: the collector would otherwise touch, and so copy, every page of it in each
    child that is forked.
    """
    gc.collect()
    gc.freeze()


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """For work on rows, which hold no cycles: walking them would take a fifth of its time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
