"""The file of ``sources:``, which operators write: read each time, and refused as a whole if any
part is invalid. A new way to find clusters is a key here, and a function in ``reading`` that
fetches it within its limits. ``webapp/fleet/listed_clusters.py`` makes clusters of them; a listing
with an error removes nothing.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from ingest.discovery.documents import MAX_BYTES, from_yaml
from ingest.discovery.sources import ADDRESS, OWN_NAMESPACE, DiscoverySource, KubernetesSource
from ingest.errors import Refused, Skipped
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.network.clusters import RefusedAddress
from ingest.network.uris import check_uri
from ingest.regular_files import open_regular
from ingest.sources import Auth, LogSource, PrometheusSource, Tls


def mapping(given: Any, where: str, keys: tuple[str, ...] = ()) -> Mapping[str, Any]:
    if not isinstance(given, dict):
        raise ValueError(f"{where} must be names with values")
    for key in given:
        if keys and key not in keys:
            raise ValueError(f"{where}: {str(key)[:40]!r} is not known; use {', '.join(keys)}")
    return given


def text(given: Mapping[str, Any], key: str, where: str) -> str:
    text = given.get(key, "")
    if not isinstance(text, str) or len(text) > 1_000 or "\0" in text:
        raise ValueError(f"{where}: '{key}' must be a text")
    return text


def texts(given: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    texts = given.get(key, [])
    if (
        not isinstance(texts, list)
        or len(texts) > 100
        or not all(isinstance(text, str) and 0 < len(text) <= 500 for text in texts)
    ):
        raise ValueError(f"{where}: '{key}' must be a list of texts")
    return tuple(texts)


KEYS = ("kubeconfig", "context", "namespaces", "selector", "read", "address", "leader")
READ = ("deployments", "services", "leaders")
MAX_NAMESPACES = 20
"""Each is a separate request; for more, request all."""

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PLACES = re.compile(r"\{(service|namespace|name|port)\}")


def kubernetes_source(given: Any, where: str) -> KubernetesSource:
    """Raises ``ValueError``."""
    own = mapping(given or {}, where, KEYS)
    kubeconfig, context = text(own, "kubeconfig", where), text(own, "context", where)
    if kubeconfig and not Path(kubeconfig).is_absolute():
        raise ValueError(
            f"{where}: 'kubeconfig' must be an absolute path; without it the service account of "
            "the pod is used"
        )
    if context and not kubeconfig:
        raise ValueError(f"{where}: 'context' is one of a 'kubeconfig'")
    namespaces = texts(own, "namespaces", where)
    if len(namespaces) > MAX_NAMESPACES or not all(
        namespace == OWN_NAMESPACE or _NAMESPACE.fullmatch(namespace) for namespace in namespaces
    ):
        most = f"at most {MAX_NAMESPACES} names"
        raise ValueError(
            f"{where}: 'namespaces' must be {most} of namespaces, or \"{OWN_NAMESPACE}\"; none "
            "means all"
        )
    read = texts(own, "read", where)
    if not set(read) <= set(READ):
        raise ValueError(f"{where}: 'read' must be of {', '.join(READ)}")
    leader = own.get("leader", False)
    if not isinstance(leader, bool):
        raise ValueError(f"{where}: 'leader' must be true or false")
    if "leaders" in read:
        leader = True
    address = text(own, "address", where) or ADDRESS
    if "{" in _PLACES.sub("", address) or "}" in _PLACES.sub("", address):
        raise ValueError(
            f"{where}: 'address' may hold {{service}}, {{namespace}}, {{name}} and {{port}}"
        )
    return KubernetesSource(
        kubeconfig, context, namespaces, text(own, "selector", where), read, address, leader
    )


MAX_SOURCES = 200
MAX_SECRET_BYTES = 64 * 1024
FILE_ENDINGS = (".json", ".yml", ".yaml")

_SIGN_IN = ("authorization", "basic_auth", "tls_config")
_HOST = re.compile(r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")
_KINDS = ("file_sd", "http_sd", "zookeeper", "yarn", "kubernetes")
_KEYS = (
    "name",
    *_KINDS,
    "refresh_s",
    "cluster",
    "scheme",
    "labels",
    "hosts",
    "logs",
    "prometheus",
    *_SIGN_IN,
)
_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


def read_declared(path: Path) -> tuple[DiscoverySource, ...]:
    """Raises ``Refused`` with file, place in it and what was expected."""
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES)
        document = from_yaml(content)
    except OSError as error:
        raise Refused(f"{path} cannot be opened ({error.strerror}).") from error
    except Skipped as error:
        raise Refused(f"{path} cannot be used: {error}.") from error
    try:
        return declared(document)
    except ValueError as error:
        raise Refused(f"{path}: {error}.") from error


def declared(document: Any) -> tuple[DiscoverySource, ...]:
    """Raises ``ValueError``."""
    entries = mapping(document, "the file", ("sources",)).get("sources")
    if not isinstance(entries, list) or len(entries) > MAX_SOURCES:
        raise ValueError(f"'sources' must be a list of at most {MAX_SOURCES} sources")
    sources: dict[str, DiscoverySource] = {}
    for number, entry in enumerate(entries):
        source = _source(entry, f"source {number + 1}")
        if source.name in sources:
            raise ValueError(f"two sources are called {source.name}")
        sources[source.name] = source
    return tuple(sources.values())


def _source(entry: Any, where: str) -> DiscoverySource:
    given = mapping(entry, where, _KEYS)
    name = text(given, "name", where)
    if not name or len(name) > 100 or not set(name) <= _NAME_CHARACTERS:
        raise ValueError(
            f"{where}: 'name' must be letters, digits, dots, dashes and underscores, 100 at most"
        )
    where = f"source {name}"
    if sum(kind in given for kind in _KINDS) != 1:
        raise ValueError(f"{where} needs one of {', '.join(_KINDS)}")
    auth, tls = _auth(given, where), _tls(given.get("tls_config"), where)
    hosts = texts(given, "hosts", where)
    if auth and not hosts:
        raise ValueError(
            f"{where} has credentials: say in 'hosts' which hosts they may be sent to, such as "
            "['*.flink.example.org']"
        )
    scheme = text(given, "scheme", where) or "http"
    if scheme not in ("http", "https"):
        raise ValueError(f"{where}: 'scheme' must be http or https")
    kind = next(kind for kind in _KINDS if kind in given)
    own = (
        mapping(given[kind] or {}, f"{where}: {kind}", ("url", *_SIGN_IN))
        if kind in ("http_sd", "yarn")
        else {}
    )
    ensemble = mapping(given.get("zookeeper") or {}, f"{where}: zookeeper", ("hosts", "root"))
    return DiscoverySource(
        name=name,
        files=_files(given, where) if "file_sd" in given else (),
        url=_url(own, f"{where}: {kind}") if kind == "http_sd" else "",
        yarn=_url(own, f"{where}: {kind}") if kind == "yarn" else "",
        zookeeper=_ensemble(ensemble, where) if "zookeeper" in given else (),
        root=text(ensemble, "root", f"{where}: zookeeper") or "/flink",
        kubernetes=kubernetes_source(given["kubernetes"], f"{where}: kubernetes")
        if "kubernetes" in given
        else None,
        own_auth=_auth(own, f"{where}: {kind}"),
        own_tls=_tls(own.get("tls_config"), f"{where}: {kind}"),
        refresh_s=_seconds(given, where),
        cluster=text(given, "cluster", where),
        scheme="https" if scheme == "https" else "http",
        labels=_labels(given, where),
        hosts=hosts,
        auth=auth,
        tls=tls,
        logs=_logs(given.get("logs"), where),
        prometheus=_prometheus(given.get("prometheus"), f"{where}: prometheus"),
    )


def _files(given: Mapping[str, Any], where: str) -> tuple[str, ...]:
    files = texts(
        mapping(given["file_sd"], f"{where}: file_sd", ("files",)), "files", f"{where}: file_sd"
    )
    if not files or not all(
        file.endswith(FILE_ENDINGS) and Path(file).is_absolute() for file in files
    ):
        raise ValueError(
            f"{where}: file_sd needs 'files': absolute paths or globs that end in "
            f"{', '.join(FILE_ENDINGS)}"
        )
    return files


def _ensemble(ensemble: Mapping[str, Any], where: str) -> tuple[str, ...]:
    hosts = texts(ensemble, "hosts", f"{where}: zookeeper")
    if not hosts or not all(_HOST.fullmatch(host) for host in hosts):
        raise ValueError(f"{where}: zookeeper needs 'hosts', such as ['zk1:2181', 'zk2:2181']")
    return hosts


def _url(own: Mapping[str, Any], where: str) -> str:
    url = text(own, "url", where)
    try:
        parts = urlsplit(url)
        usable = (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
            and "@" not in parts.netloc
        )
        check_uri(url)
    except RefusedAddress as error:
        raise ValueError(f"{where}: {error.strerror}") from error
    except ValueError:
        usable = False
    if not usable:
        raise ValueError(
            f"{where} needs a 'url' such as https://inventory.example.org/flink, without user and "
            "password"
        )
    return url


def _labels(given: Mapping[str, Any], where: str) -> dict[str, str]:
    labels = mapping(given.get("labels") or {}, f"{where}: labels")
    if any(
        not isinstance(text, str) or str(name).startswith("__") for name, text in labels.items()
    ):
        raise ValueError(
            f"{where}: 'labels' are names with texts, such as team: '{{__meta_team}}'; numbers and "
            "yes/no need quotes"
        )
    return dict(labels)


def _seconds(given: Mapping[str, Any], where: str) -> int:
    seconds = given.get("refresh_s", 15)
    if not isinstance(seconds, int) or isinstance(seconds, bool) or not 5 <= seconds <= 3600:
        raise ValueError(f"{where}: 'refresh_s' must be seconds, from 5 to 3600")
    return seconds


def _logs(given: Any, where: str) -> LogSource | None:
    if given is None:
        return None
    logs = mapping(given, f"{where}: logs", ("globs", "layout", "time_zone"))
    globs = texts(logs, "globs", f"{where}: logs")
    zone = text(logs, "time_zone", where) or "UTC"
    if zone not in available_timezones():
        raise ValueError(f"{where}: logs: 'time_zone' must be an IANA name such as Europe/Berlin")
    layout = text(logs, "layout", where) or "flink"
    try:
        zone_of("", layout_of(layout))
    except Refused as error:
        raise ValueError(f"{where}: logs: 'layout': {error}") from error
    return LogSource(globs, layout, zone)


def _prometheus(given: Any, where: str) -> PrometheusSource | None:
    if given is None:
        return None
    own = mapping(given, where, ("url", "selector", "tenant", *_SIGN_IN))
    tls = _tls(own.get("tls_config"), where) or Tls()
    if tls.client_cert_file or not tls.verify:
        raise ValueError(
            f"{where}: tls_config: only 'ca_file' is known; its certificate is always checked"
        )
    return PrometheusSource(
        _url(own, where),
        text(own, "selector", where),
        _auth(own, where),
        tls.ca_file,
        text(own, "tenant", where),
    )


def _auth(given: Mapping[str, Any], where: str) -> Auth | None:
    """As Prometheus declares it; secrets are in files."""
    if "authorization" in given:
        token = mapping(
            given["authorization"], f"{where}: authorization", ("type", "credentials_file")
        )
        if token.get("type") == "Negotiate" and "credentials_file" not in token:
            return Auth("kerberos")
        if token.get("type", "Bearer") != "Bearer":
            raise ValueError(
                f"{where}: authorization: 'type' must be Bearer, or Negotiate without "
                "'credentials_file'"
            )
        return Auth("bearer", _secret(token, "credentials_file", where))
    if "basic_auth" in given:
        basic = mapping(given["basic_auth"], f"{where}: basic_auth", ("username", "password_file"))
        return Auth("basic", _secret(basic, "password_file", where), text(basic, "username", where))
    return None


def _secret(given: Mapping[str, Any], key: str, where: str) -> str:
    path = text(given, key, where)
    try:
        with open_regular(path) as file:
            secret = file.read(MAX_SECRET_BYTES).decode().strip()
    except (OSError, ValueError):
        raise ValueError(f"{where}: the file of '{key}' cannot be read") from None
    if not secret or "\n" in secret:
        raise ValueError(f"{where}: the file of '{key}' must hold one line")
    return secret


def _tls(given: Any, where: str) -> Tls | None:
    if given is None:
        return None
    keys = ("ca_file", "cert_file", "key_file")
    tls = mapping(given, f"{where}: tls_config", (*keys, "insecure_skip_verify"))
    verify = tls.get("insecure_skip_verify", False)
    if not isinstance(verify, bool):
        raise ValueError(f"{where}: tls_config: 'insecure_skip_verify' must be true or false")
    ca, cert, key = (text(tls, name, where) for name in keys)
    return Tls(ca, cert, key, not verify)
