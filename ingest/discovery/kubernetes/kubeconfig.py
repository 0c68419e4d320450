"""A kubeconfig, read each time: one of its contexts, with its cluster and its user.

https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/. No program is started and nothing is
asked for it: a user that signs in by ``exec`` or ``auth-provider`` is refused, since the file would
decide what runs here.
"""

import base64
import binascii
from pathlib import Path
from typing import Any

from ingest.discovery.documents import from_yaml
from ingest.discovery.kubernetes.access import (
    ApiServer,
    Credentials,
    checked_url,
    context,
    read_text,
)
from ingest.errors import Skipped
from ingest.messages import message

MAX_NAMED = 1_000


def read_kubeconfig(path: str, named: str = "") -> ApiServer:
    """``named``: a context, else ``current-context``.

    Raises ``Skipped`` with what is wrong; no secret is part of it.
    """
    document = from_yaml(read_text(path).encode())
    if not isinstance(document, dict):
        raise Skipped(
            message("{path:name} is not a kubeconfig: names with values are expected", path=path)
        )
    folder = Path(path).parent
    wanted = named or _text(document, "current-context")
    if not wanted:
        raise Skipped(
            message("{path:name} has no current-context: say which 'context' of it", path=path)
        )
    chosen = _named(document, "contexts", "context", wanted)
    cluster = _named(document, "clusters", "cluster", _text(chosen, "cluster"))
    user = _named(document, "users", "user", _text(chosen, "user")) if _text(chosen, "user") else {}
    url = checked_url(_text(cluster, "server"))
    credentials = _credentials(user, folder)
    if _text(cluster, "proxy-url"):
        raise Skipped(message("its cluster has a 'proxy-url', and Weir uses no proxy"))
    if url.startswith("http:"):
        if credentials != Credentials():
            raise Skipped(
                message("its server uses plain HTTP, and Weir sends credentials only over HTTPS")
            )
        return ApiServer(url, None, namespace=_text(chosen, "namespace"))
    verify = cluster.get("insecure-skip-tls-verify") is not True
    tls = context(_content(cluster, "certificate-authority", folder), credentials, verify=verify)
    return ApiServer(
        url, tls, credentials.token, _text(cluster, "tls-server-name"), _text(chosen, "namespace")
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
    certificate = _content(user, "client-certificate", folder)
    key = _content(user, "client-key", folder)
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


def _content(given: dict[str, Any], key: str, folder: Path) -> str:
    """Of ``key`` (a path, relative to the file) or ``key-data`` (base64 of PEM); data goes first,
    as in client-go.
    """
    data = _text(given, f"{key}-data", longest=1024 * 1024)
    if data:
        try:
            return base64.b64decode(data, validate=True).decode()
        except (binascii.Error, ValueError) as error:
            raise Skipped(
                message("its {key:text}-data is not base64-encoded PEM", key=key)
            ) from error
    path = _text(given, key)
    return read_text(str(folder / path)) if path else ""


def _named(document: dict[str, Any], key: str, inner: str, name: str) -> dict[str, Any]:
    listed = document.get(key)
    for entry in (listed if isinstance(listed, list) else [])[:MAX_NAMED]:
        if isinstance(entry, dict) and entry.get("name") == name:
            named_entry = entry.get(inner)
            return named_entry if isinstance(named_entry, dict) else {}
    raise Skipped(
        message("it has no entry {name:text} in {key:text}", name=f"{name[:100]!r}", key=key)
    )


def _text(given: dict[str, Any], key: str, longest: int = 64 * 1024) -> str:
    text = given.get(key) or ""
    if not isinstance(text, str) or len(text) > longest or "\0" in text:
        raise Skipped(message("its {key:text} is not text", key=f"{key!r}"))
    return text
