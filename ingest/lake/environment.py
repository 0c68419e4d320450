import json
import os
from collections.abc import Mapping
from pathlib import Path

from ingest.errors import Refused


def lake_place(
    root: str | None = None, environment: Mapping[str, str] = os.environ
) -> tuple[str, dict[str, str]]:
    """The lake's root, and storage options from ``WEIR_LAKE_OPTIONS`` (JSON). The root is ``root``,
    else ``WEIR_LAKE_ROOT``, else ``$WEIR_HOME/lake``. Raises ``Refused``.
    """
    home = environment.get("WEIR_HOME") or "var"
    lake_root = root or environment.get("WEIR_LAKE_ROOT") or str(Path(home) / "lake")
    return lake_root, _options(environment.get("WEIR_LAKE_OPTIONS") or "{}")


def _options(text: str) -> dict[str, str]:
    try:
        options = json.loads(text)
    except ValueError:
        options = None
    if not isinstance(options, dict) or not all(
        isinstance(value, str) for value in options.values()
    ):
        raise Refused(
            'WEIR_LAKE_OPTIONS must be a JSON object of texts, such as {"AWS_REGION": "eu-west-1"}.'
        )
    return options
