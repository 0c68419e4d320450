"""What a simulated age rule would have done to one root, as a page, the API and the command show it."""

from collections.abc import Mapping
from typing import Any


def of_root(result: Mapping[str, Any] | None, root: str) -> dict[str, Any] | None:
    """Of the JSON that ``python -m spark_jobs age_rule`` writes; ``None`` where it does not tell of this root."""
    found = (result or {}).get("roots") or []
    return next((dict(one) for one in found if one.get("root") == root), None)
