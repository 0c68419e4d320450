"""How an API server is reached and signed in to: by the service account of a pod, or by a
kubeconfig.
"""

import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ingest.errors import Skipped
from ingest.messages import message
from ingest.regular_files import open_regular

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
MAX_FILE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ApiServer:
    """``tls`` is None for plain HTTP.

    ``namespace``: of the service account or the context; "" where none is given.
    """

    url: str
    tls: ssl.SSLContext | None = field(repr=False)
    token: str = field(default="", repr=False)
    server_name: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a user of a kubeconfig, or a pod, signs in with, as it is written: PEM and token as
    text.
    """

    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


def in_cluster(folder: str = SERVICE_ACCOUNT) -> ApiServer:
    """Read each time, since the token of a pod is replaced every hour. Raises ``Skipped``."""
    host = os.environ.get("KUBERNETES_SERVICE_HOST", "")
    port = os.environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host:
        raise Skipped(
            message(
                "this process runs in no pod (KUBERNETES_SERVICE_HOST is not set); give a "
                "'kubeconfig'"
            )
        )
    token, ca = read_text(f"{folder}/token"), read_text(f"{folder}/ca.crt")
    try:
        namespace = read_text(f"{folder}/namespace")
    except Skipped:
        namespace = ""
    address = f"[{host}]" if ":" in host else host
    return ApiServer(
        checked_url(f"https://{address}:{port}"),
        context(ca, Credentials(token)),
        token,
        "",
        namespace,
    )


def read_text(path: str) -> str:
    """Raises ``Skipped``, which names the path and nothing of the content."""
    try:
        with open_regular(path) as file:
            content = file.read(MAX_FILE_BYTES + 1)
        if len(content) > MAX_FILE_BYTES:
            raise Skipped(message("{path:text} is larger than 1 MiB", path=path))
        return content.decode().strip()
    except OSError as error:
        raise Skipped(
            message(
                "{path:text} cannot be opened ({strerror:name})",
                path=path,
                strerror=str(error.strerror),
            )
        ) from error
    except ValueError as error:
        raise Skipped(message("{path:text} holds no text", path=path)) from error


def checked_url(url: str) -> str:
    """Raises ``Skipped``."""
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc
        )
    except ValueError:
        usable = False
    if not usable:
        raise Skipped(
            message("the address of the API server must be such as https://10.0.0.1:6443")
        )
    return url.rstrip("/")


def context(ca: str, credentials: Credentials, *, verify: bool = True) -> ssl.SSLContext:
    """``ca``: PEM; "" for the authorities of the system.

    Raises ``Skipped``; no content gets into its message.
    """
    try:
        made = ssl.create_default_context(cadata=ca or None)
    except (ssl.SSLError, ValueError) as error:
        raise Skipped(
            message("the certificate authority of the API server is not a PEM certificate")
        ) from error
    if not verify:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if credentials.certificate:
        _load(made, credentials)
    return made


def _load(made: ssl.SSLContext, credentials: Credentials) -> None:
    """OpenSSL takes certificates from files alone: one that nobody else may read, gone again at
    once.
    """
    descriptor, path = tempfile.mkstemp(prefix="weir-kubernetes-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{credentials.certificate}\n{credentials.key}\n")
        made.load_cert_chain(
            path, password=""
        )  # an empty password keeps OpenSSL from asking for one on the terminal
    except (ssl.SSLError, OSError, ValueError) as error:
        raise Skipped(
            message(
                "the client certificate and its key do not load; both must be PEM, the key without "
                "a password"
            )
        ) from error
    finally:
        Path(path).unlink(missing_ok=True)
