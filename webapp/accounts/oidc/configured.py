"""The settings of the sign-in, without an import of Authlib, which loads slowly."""

from django.conf import settings

from webapp.config.readers import RefusedSetting
from webapp.lib import grants
from webapp.lib.matchers import BadMatcher

EVERYTHING = "*"


class ProviderFails(Exception):
    """The message is safe to show; the log has the cause."""


def is_configured() -> bool:
    return bool(settings.WEIR.oidc_issuer and settings.WEIR.oidc_client_id)


def check_settings() -> None:
    """Raises ``RefusedSetting`` if ``WEIR_OIDC_SEES`` has an unreadable grant."""
    for line in settings.WEIR.oidc_sees.values():
        try:
            if line != EVERYTHING:
                grants.parse_line(line)
        except BadMatcher as wrong:
            raise RefusedSetting(
                "WEIR_OIDC_SEES", "(hidden)", f"an object of grants: {wrong}"
            ) from None
