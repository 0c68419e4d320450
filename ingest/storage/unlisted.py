"""What a listing could not look into, or has two names for."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from ingest.records import Skip
from ingest.storage.roots import Root
from ingest.uris import canonical, is_below

LINK = "link"
SECOND_NAME = "second_name"
BAD_NAME = "bad_name"


@dataclass(frozen=True, slots=True)
class Unlisted(Skip):
    """``other``: canonical, what a link leads to, or the other name of a directory; empty where
    there is none or nobody knows.
    """

    other: str = ""


def named_in(roots: Iterable[Root], other: str) -> str:
    """What a link leads to, as the root that holds it is named: it may be read elsewhere, or by
    a link above it.
    """
    for root in roots:
        places = {root.uri, canonical(root.reading)}
        if "://" not in root.reading:
            places.add(canonical(os.path.realpath(root.reading)))
        for place in places:
            if is_below(place, other) and place != other:
                return ""
            if is_below(other, place):
                return root.uri.rstrip("/") + other[len(place.rstrip("/")) :]
    return other
