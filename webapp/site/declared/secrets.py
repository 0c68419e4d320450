"""Secrets in files are references, never values: ``{env: NAME}`` or ``{file: PATH}``."""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from itertools import count

from django.conf import settings

from ingest.local_directories import refusal_of_own_folder
from ingest.regular_files import open_regular
from webapp.lib.messages.rendering import localised
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
        if refusal := refusal_of_own_folder(place):
            raise InputRefused(f"{place} is not read: {localised(refusal)}")
        try:
            with open_regular(place) as file:
                secret = file.read(LONGEST_SECRET + 1).decode().rstrip("\r\n")
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise InputRefused(f"{place} cannot be read: {why}") from error
        if not secret:
            raise InputRefused(f"{place} is empty")
    if secret in _own_secrets():
        raise InputRefused(f"{place} is one of Weir's own secrets and cannot be used")
    if len(secret) > LONGEST_SECRET or not secret.isprintable():
        raise InputRefused(
            f"{place} is longer than {LONGEST_SECRET} characters, or has more than one line"
        )
    return secret


def _own_secrets() -> set[str]:
    """Settings that are hidden, each as a whole."""
    hidden = [getattr(settings.WEIR, each.name) for each in fields(settings.WEIR) if not each.repr]
    keys = [value for value in hidden if isinstance(value, tuple)]
    database = settings.WEIR.database.get("PASSWORD"), os.environ.get("WEIR_DATABASE_URL")
    texts = (*hidden, *database, *(key for values in keys for key in values))
    return {text for text in texts if isinstance(text, str) and text}


def variable_for(names: Sequence[str], taken: Collection[str]) -> str:
    """For an export, such as ``WEIR_CLUSTERS_PROD_EU_SECRET``; numbered if it is ``taken``."""
    variable = re.sub(r"[^A-Z0-9]+", "_", "_".join(("weir", *names)).upper())
    numbered = (f"{variable}_{number}" for number in count(2))
    return variable if variable not in taken else next(n for n in numbered if n not in taken)
