"""Secrets in files are references, never values: ``{env: NAME}`` or ``{file: PATH}``."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

from webapp.lib.refusals import InputRefused

LONGEST_SECRET = 8_000
SCHEMA = {
    "x-secret": True,
    "description": "a reference to a secret: {env: NAME} or {file: PATH}",
    "type": "object",
    "oneOf": [
        {
            "required": [name],
            "properties": {name: {"type": "string", "minLength": 1}},
            "additionalProperties": False,
        }
        for name in ("env", "file")
    ],
}


def resolve(reference: Mapping[str, str]) -> str:
    """Without the line break at its end. Raises :class:`InputRefused`, without the secret."""
    ((kind, place),) = reference.items()
    if kind == "env":
        secret = os.environ.get(place, "")
        if not secret:
            raise InputRefused(f"the variable {place} is not set")
    else:
        try:
            with Path(place).open(encoding="utf-8") as file:
                secret = file.read(LONGEST_SECRET + 1).rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputRefused(f"{place} cannot be read: {why}") from error
        if not secret:
            raise InputRefused(f"{place} is empty")
    if len(secret) > LONGEST_SECRET or not secret.isprintable():
        raise InputRefused(
            f"{place} is longer than {LONGEST_SECRET} characters, or has more than one line"
        )
    return secret


def reference_for(*names: str) -> dict[str, str]:
    """For an export: a variable that the names make, such as ``WEIR_CLUSTERS_PROD_EU_SECRET``."""
    return {"env": re.sub(r"[^A-Z0-9]+", "_", "_".join(("weir", *names)).upper())}
