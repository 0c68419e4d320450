"""When a process that answers requests looks for garbage in cycles."""

import gc

from ingest.garbage_collection import keep_what_is_imported

OBJECTS_OF_A_LARGE_PAGE = 10_000


def look_for_garbage_rarely() -> None:
    """Call it once everything is imported.

    A list of thousands of rows makes many objects, which go when it is answered; by the
    interpreter's own thresholds every fifth such page would wait some 30 ms until all objects of
    the process were walked over. What is there now is never walked over again.
    """
    keep_what_is_imported()
    gc.set_threshold(OBJECTS_OF_A_LARGE_PAGE, 10, 10)
