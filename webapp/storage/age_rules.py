"""What a simulated age rule would have done to one root, as a page, the API and the command show
it.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from ingest.uris import BadUri, canonical, is_below
from webapp.storage.auditing.audit_request import spellings

MOST_CHARS = 1000


def of_root(result: Mapping[str, Any] | None, root: str) -> dict[str, Any] | None:
    """Of the JSON that ``python -m spark_jobs age_rule`` writes; ``None`` where it does not contain
    this root.
    """
    root_results = (result or {}).get("roots") or []
    return next((dict(one) for one in root_results if one.get("root") == root), None)


def directory_below(written: str, root: str) -> str:
    """A directory of ``root`` as an age rule may be bound to, canonical; empty for the whole root.

    Raises :class:`BadUri` for what lies elsewhere.
    """
    if not written.strip():
        return ""
    directory = canonical(written.strip(), spellings())
    if directory == root:
        return ""
    if not is_below(directory, root) or len(directory) > MOST_CHARS:
        raise BadUri(
            directory,
            gettext("is not a directory below %(root)s; give one, or none for the whole root")
            % {"root": root},
        )
    return directory
