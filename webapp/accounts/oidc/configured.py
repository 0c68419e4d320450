"""Whether there is a provider, and what of it is known without asking: nothing of the protocol is
imported for it.
"""

from django.conf import settings

from webapp.config.readers import RefusedSetting
from webapp.lib import grants
from webapp.lib.matchers import BadMatcher

EVERYTHING = "*"


class ProviderFails(Exception):
    """The provider did not answer, or not with what can be believed.

    The message is safe to show; the log has the cause.
    """


def is_configured() -> bool:
    return bool(settings.WEIR.oidc_issuer and settings.WEIR.oidc_client_id)


def redirect_uri() -> str:
    """Of the public address, whatever host a request names."""
    return f"{settings.WEIR.public_url}/sign-in/oidc/back/"


def signed_out_uri() -> str:
    """Where the provider leads to after somebody signed out there."""
    return f"{settings.WEIR.public_url}/sign-in/"


def check_settings() -> None:
    """Raises ``RefusedSetting``."""
    for line in settings.WEIR.oidc_sees.values():
        try:
            if line != EVERYTHING:
                grants.parse_line(line)
        except BadMatcher as wrong:
            raise RefusedSetting(
                "WEIR_OIDC_SEES", "(hidden)", f"an object of grants: {wrong}"
            ) from None
