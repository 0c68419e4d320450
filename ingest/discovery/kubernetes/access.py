import base64
import binascii
import os
import ssl
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ingest.discovery.documents import from_yaml
from ingest.errors import Skipped
from ingest.json_members import as_object, object_list
from ingest.messages import message
from ingest.network.uris import is_http_address
from ingest.regular_files import open_regular

SERVICE_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
MAX_FILE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ApiServer:
    url: str
    tls: ssl.SSLContext | None = field(repr=False)
    token: str = field(default="", repr=False)
    server_name: str = ""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Credentials:
    token: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


def in_cluster(folder: str = SERVICE_ACCOUNT) -> ApiServer:
    """The API server of this pod's cluster. The files are read at each call: the token is replaced
    every hour. Raises ``Skipped``.
    """
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
        check_url(f"https://{address}:{port}"),
        tls_context(ca, Credentials(token)),
        token,
        "",
        namespace,
    )


def read_text(path: str) -> str:
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


def check_url(url: str) -> str:
    if not is_http_address(url):
        raise Skipped(
            message("the address of the API server must be such as https://10.0.0.1:6443")
        )
    return url.rstrip("/")


def tls_context(ca: str, credentials: Credentials, *, verify: bool = True) -> ssl.SSLContext:
    """``ca``: PEM, or "" for the authorities of the system. Raises ``Skipped``, without secrets."""
    try:
        tls = ssl.create_default_context(cadata=ca or None)
    except (ssl.SSLError, ValueError) as error:
        raise Skipped(
            message("the certificate authority of the API server is not a PEM certificate")
        ) from error
    if not verify:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if credentials.certificate:
        _load_certificate(tls, credentials)
    return tls


def _load_certificate(tls: ssl.SSLContext, credentials: Credentials) -> None:
    """OpenSSL reads certificates only from files, so a private file is written and deleted."""
    descriptor, path = tempfile.mkstemp(prefix="weir-kubernetes-")
    try:
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{credentials.certificate}\n{credentials.key}\n")
        tls.load_cert_chain(
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


MAX_ENTRIES = 1_000


def read_kubeconfig(path: str, context_name: str = "") -> ApiServer:
    """``context_name``: by default ``current-context``. Raises ``Skipped``, without secrets."""
    document = from_yaml(read_text(path).encode())
    if not isinstance(document, dict):
        raise Skipped(
            message("{path:name} is not a kubeconfig: names with values are expected", path=path)
        )
    folder = Path(path).parent
    name = context_name or _text(document, "current-context")
    if not name:
        raise Skipped(
            message("{path:name} has no current-context: say which 'context' of it", path=path)
        )
    context = _find_entry(document, "contexts", "context", name)
    cluster = _find_entry(document, "clusters", "cluster", _text(context, "cluster"))
    user_name = _text(context, "user")
    user = _find_entry(document, "users", "user", user_name) if user_name else {}
    url = check_url(_text(cluster, "server"))
    credentials = _credentials(user, folder)
    if _text(cluster, "proxy-url"):
        raise Skipped(message("its cluster has a 'proxy-url', and Weir uses no proxy"))
    if url.startswith("http:"):
        if credentials != Credentials():
            raise Skipped(
                message("its server uses plain HTTP, and Weir sends credentials only over HTTPS")
            )
        return ApiServer(url, None, namespace=_text(context, "namespace"))
    verify = cluster.get("insecure-skip-tls-verify") is not True
    tls = tls_context(_pem(cluster, "certificate-authority", folder), credentials, verify=verify)
    return ApiServer(
        url, tls, credentials.token, _text(cluster, "tls-server-name"), _text(context, "namespace")
    )


def _credentials(user: dict[str, Any], folder: Path) -> Credentials:
    for key in ("exec", "auth-provider"):
        if user.get(key):
            raise Skipped(
                message(
                    "its user signs in with {key:text}, and Weir runs no program that a file "
                    "names: use a service account's token or a certificate",
                    key=f"{key!r}",
                )
            )
    if user.get("username") or user.get("password"):
        raise Skipped(
            message(
                "its user has a password, which API servers no longer accept since 1.19: use "
                "a token or a certificate"
            )
        )
    certificate = _pem(user, "client-certificate", folder)
    key = _pem(user, "client-key", folder)
    if bool(certificate) != bool(key):
        raise Skipped(
            message("its user has only one of client certificate and key; both are needed")
        )
    token_file = _text(user, "tokenFile")
    token = read_text(str(folder / token_file)) if token_file else _text(user, "token")
    if any(
        character.isspace() or not character.isprintable() or ord(character) > 126
        for character in token
    ):
        raise Skipped(message("its token contains characters that are not allowed in a token"))
    return Credentials(token, certificate, key)


def _pem(section: dict[str, Any], key: str, folder: Path) -> str:
    """The PEM text in ``key-data`` (base64), else in the file ``key`` (relative to the kubeconfig),
    as in client-go.
    """
    data = _text(section, f"{key}-data", longest=1024 * 1024)
    if data:
        try:
            return base64.b64decode(data, validate=True).decode()
        except (binascii.Error, ValueError) as error:
            raise Skipped(
                message("its {key:text}-data is not base64-encoded PEM", key=key)
            ) from error
    path = _text(section, key)
    return read_text(str(folder / path)) if path else ""


def _find_entry(document: dict[str, Any], key: str, member: str, name: str) -> dict[str, Any]:
    for entry in object_list(document, key)[:MAX_ENTRIES]:
        if entry.get("name") == name:
            return as_object(entry.get(member))
    raise Skipped(
        message("it has no entry {name:text} in {key:text}", name=f"{name[:100]!r}", key=key)
    )


def _text(section: dict[str, Any], key: str, longest: int = 64 * 1024) -> str:
    text = section.get(key) or ""
    if not isinstance(text, str) or len(text) > longest or "\0" in text:
        raise Skipped(message("its {key:text} is not text", key=f"{key!r}"))
    return text
