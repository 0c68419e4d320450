"""How often a web process collects cyclic garbage."""

import gc

from ingest.garbage_collection import keep_what_is_imported

OBJECTS_OF_A_LARGE_PAGE = 10_000


def collect_garbage_rarely() -> None:
    """Call it after all imports."""
    keep_what_is_imported()
    gc.set_threshold(OBJECTS_OF_A_LARGE_PAGE, 10, 10)
