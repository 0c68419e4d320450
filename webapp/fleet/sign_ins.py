from dataclasses import dataclass

from webapp.config import encryption
from webapp.fleet.choices import AuthScheme
from webapp.fleet.models import Cluster


@dataclass(frozen=True)
class SignIn:
    """How Weir signs in to a service of a cluster. ``prefix``: of columns and form fields;
    ``stored``: column of the secret; ``addresses``: columns of the service's addresses. Nothing is
    sent while the column ``needs`` is empty.
    """

    prefix: str
    stored: str
    addresses: tuple[str, ...]
    needs: str = "name"

    @property
    def scheme(self) -> str:
        return f"{self.prefix}auth_scheme"

    @property
    def user(self) -> str:
        return f"{self.prefix}auth_user"

    @property
    def secret(self) -> str:
        return f"{self.prefix}secret"

    @property
    def forget(self) -> str:
        return f"{self.prefix}forget_secret"

    def store(self, cluster: Cluster, secret: str) -> None:
        """An empty ``secret`` removes the stored one."""
        setattr(cluster, self.stored, encryption.encrypt(secret) if secret else "")


def needs_secret(scheme: str | None) -> bool:
    return scheme not in (None, "", AuthScheme.KERBEROS)


JOBMANAGER = SignIn("", "auth_secret_encrypted", ("url", "history_url"))
PROMETHEUS = SignIn("prometheus_", "prometheus_secret_encrypted", ("prometheus_url",))
LOG_STORE = SignIn("log_store_", "log_store_secret_encrypted", ("log_store_url",), "log_store_kind")
SIGN_INS = (JOBMANAGER, PROMETHEUS, LOG_STORE)
