"""Secrets with which Weir signs in for a cluster, and the addresses to which each is sent."""

from dataclasses import dataclass

from webapp.config import encryption
from webapp.fleet.models import Cluster


@dataclass(frozen=True)
class SignIn:
    """``prefix`` is that of its columns and of the fields of the form, ``stored`` the column of its
    secret.

    ``addresses`` are columns, too; without a value in the column ``needs`` nobody is asked.
    """

    prefix: str
    stored: str
    addresses: tuple[str, ...]
    needs: str = "name"

    @property
    def scheme(self) -> str:
        return f"{self.prefix}auth_scheme"

    @property
    def secret(self) -> str:
        return f"{self.prefix}secret"

    @property
    def forget(self) -> str:
        return f"{self.prefix}forget_secret"

    def keep(self, cluster: Cluster, secret: str) -> None:
        """Stores the password or token encrypted; "" removes it."""
        setattr(cluster, self.stored, encryption.encrypt(secret) if secret else "")


JOBMANAGER = SignIn("", "auth_secret_encrypted", ("url", "history_url"))
PROMETHEUS = SignIn("prometheus_", "prometheus_secret_encrypted", ("prometheus_url",))
LOG_STORE = SignIn("log_store_", "log_store_secret_encrypted", ("log_store_url",), "log_store_kind")
SIGN_INS = (JOBMANAGER, PROMETHEUS, LOG_STORE)
