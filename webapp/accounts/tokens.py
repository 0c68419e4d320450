from dataclasses import dataclass

from webapp.accounts.models import ApiToken
from webapp.lib import grants


@dataclass(frozen=True)
class ShownToken:
    """``narrowed``: grants that it is narrowed to, a line each; empty of one that sees what its
    person does.
    """

    token: ApiToken
    narrowed: list[str]


def shown(token: ApiToken) -> ShownToken:
    if token.sees is None:
        return ShownToken(token, [])
    return ShownToken(
        token, grants.as_text(grants.grants_from_json(token.sees)).splitlines() or ["no cluster"]
    )
