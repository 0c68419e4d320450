"""With what secrets Weir signs in for a cluster, and to which of its addresses each is sent."""

from collections.abc import Callable
from dataclasses import dataclass

from webapp.fleet.models import Cluster


@dataclass(frozen=True)
class SignIn:
    """``scheme``, ``stored`` and ``addresses`` are columns of a cluster, ``secret`` and ``forget`` fields of its form."""

    scheme: str
    stored: str
    addresses: tuple[str, ...]
    secret: str
    forget: str
    keep: Callable[[Cluster, str], None]


SIGN_INS = (
    SignIn("auth_scheme", "auth_secret_encrypted", ("url", "history_url"), "secret", "forget_secret", Cluster.set_secret),
    SignIn(
        "prometheus_auth_scheme", "prometheus_secret_encrypted", ("prometheus_url",), "prometheus_secret", "prometheus_forget_secret",
        Cluster.set_prometheus_secret,
    ),
)  # fmt: skip
