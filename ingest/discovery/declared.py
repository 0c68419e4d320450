"""Reads the file that declares discovery sources. If any part is invalid, the whole file is
refused. For a new way to find clusters, add a key here and a bounded function in ``reading``.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn
from zoneinfo import available_timezones

from ingest.discovery.documents import MAX_BYTES, from_yaml
from ingest.discovery.sources import ADDRESS, OWN_NAMESPACE, DiscoverySource, KubernetesSource
from ingest.errors import Refused, Skipped
from ingest.flink_logs.layouts import layout_of, zone_of
from ingest.network.clusters import RefusedAddress
from ingest.network.uris import check_uri, is_http_address
from ingest.regular_files import open_regular
from ingest.sources import Auth, LogSource, PrometheusSource, Tls

READABLE = ("deployments", "services", "leaders")
MAX_NAMESPACES = 20
"""Each namespace is a separate request; for more, list all namespaces."""
MAX_SOURCES = 200
MAX_SECRET_BYTES = 64 * 1024
FILE_ENDINGS = (".json", ".yml", ".yaml")

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_PLACEHOLDERS = re.compile(r"\{(service|namespace|name|port)\}")
_SIGN_IN_KEYS = ("authorization", "basic_auth", "tls_config")
_HOST = re.compile(r"(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+):[0-9]{1,5}")
_KINDS = ("file_sd", "http_sd", "zookeeper", "yarn", "kubernetes")
_KEYS = (
    *("name", *_KINDS, "refresh_s", "cluster", "scheme", "labels", "hosts", "logs", "prometheus"),
    *_SIGN_IN_KEYS,
)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")


class Section:
    def __init__(self, values: Any, location: str, keys: tuple[str, ...] = ()) -> None:
        self.location = location
        if not isinstance(values, dict):
            raise ValueError(f"{location} must be names with values")
        self.values = values
        for key in values:
            if keys and key not in keys:
                self.refuse(f"{str(key)[:40]!r} is not known; use {', '.join(keys)}")

    def refuse(self, why: str) -> NoReturn:
        raise ValueError(f"{self.location}: {why}")

    def part(self, key: str, keys: tuple[str, ...] = ()) -> "Section":
        values = self.values.get(key)
        return Section({} if values is None else values, f"{self.location}: {key}", keys)

    def text(self, key: str) -> str:
        text = self.values.get(key, "")
        if not isinstance(text, str) or len(text) > 1_000 or "\0" in text:
            self.refuse(f"'{key}' must be a text")
        return text

    def texts(self, key: str) -> tuple[str, ...]:
        texts = self.values.get(key, [])
        if (
            not isinstance(texts, list)
            or len(texts) > 100
            or not all(isinstance(text, str) and 0 < len(text) <= 500 for text in texts)
        ):
            self.refuse(f"'{key}' must be a list of texts")
        return tuple(texts)

    def flag(self, key: str) -> bool:
        flag = self.values.get(key, False)
        if not isinstance(flag, bool):
            self.refuse(f"'{key}' must be true or false")
        return flag

    def url(self) -> str:
        url = self.text("url")
        try:
            check_uri(url)
        except RefusedAddress as error:
            self.refuse(str(error.strerror))
        if not is_http_address(url):
            raise ValueError(
                f"{self.location} needs a 'url' such as https://inventory.example.org/flink, without "
                "user and password"
            )
        return url

    def secret(self, key: str) -> str:
        try:
            with open_regular(self.text(key)) as file:
                secret = file.read(MAX_SECRET_BYTES).decode().strip()
        except (OSError, ValueError):
            raise ValueError(f"{self.location}: the file of '{key}' cannot be read") from None
        if not secret or "\n" in secret:
            self.refuse(f"the file of '{key}' must hold one line")
        return secret

    def auth(self) -> Auth | None:
        if "authorization" in self.values:
            # "authorization: …" in an error would be redacted as a header.
            token = Section(
                self.values["authorization"], self.location, ("type", "credentials_file")
            )
            kind = token.values.get("type", "Bearer")
            if kind == "Negotiate" and "credentials_file" not in token.values:
                return Auth("kerberos")
            if kind != "Bearer":
                token.refuse("'type' must be Bearer, or Negotiate without 'credentials_file'")
            return Auth("bearer", token.secret("credentials_file"))
        if "basic_auth" in self.values:
            basic = self.part("basic_auth", ("username", "password_file"))
            return Auth("basic", basic.secret("password_file"), basic.text("username"))
        return None

    def tls(self) -> Tls | None:
        if self.values.get("tls_config") is None:
            return None
        keys = ("ca_file", "cert_file", "key_file")
        tls = self.part("tls_config", (*keys, "insecure_skip_verify"))
        ca, cert, key = (tls.text(name) for name in keys)
        return Tls(ca, cert, key, not tls.flag("insecure_skip_verify"))


def read_declared(path: Path) -> tuple[DiscoverySource, ...]:
    """Raises ``Refused`` with the file, the invalid part and what was expected."""
    try:
        with open_regular(path) as file:
            content = file.read(MAX_BYTES)
        return parse_sources(from_yaml(content))
    except OSError as error:
        raise Refused(f"{path} cannot be opened ({error.strerror}).") from error
    except Skipped as error:
        raise Refused(f"{path} cannot be used: {error}.") from error
    except ValueError as error:
        raise Refused(f"{path}: {error}.") from error


def parse_sources(document: Any) -> tuple[DiscoverySource, ...]:
    entries = Section(document, "the file", ("sources",)).values.get("sources")
    if not isinstance(entries, list) or len(entries) > MAX_SOURCES:
        raise ValueError(f"'sources' must be a list of at most {MAX_SOURCES} sources")
    sources: dict[str, DiscoverySource] = {}
    for number, entry in enumerate(entries, 1):
        source = _source(Section(entry, f"source {number}", _KEYS))
        if source.name in sources:
            raise ValueError(f"two sources are called {source.name}")
        sources[source.name] = source
    return tuple(sources.values())


def _source(section: Section) -> DiscoverySource:
    name = section.text("name")
    if not _NAME.fullmatch(name):
        section.refuse("'name' must be letters, digits, dots, dashes and underscores, 100 at most")
    section.location = f"source {name}"
    kinds = [kind for kind in _KINDS if kind in section.values]
    if len(kinds) != 1:
        raise ValueError(f"{section.location} needs one of {', '.join(_KINDS)}")
    (kind,) = kinds
    auth, hosts = section.auth(), section.texts("hosts")
    if auth and not hosts:
        raise ValueError(
            f"{section.location} has credentials: say in 'hosts' which hosts they may be sent to, such "
            "as ['*.flink.example.org']"
        )
    scheme = section.text("scheme") or "http"
    if scheme not in ("http", "https"):
        section.refuse("'scheme' must be http or https")
    endpoint = section.part(kind, ("url", *_SIGN_IN_KEYS)) if kind in ("http_sd", "yarn") else None
    ensemble = section.part("zookeeper", ("hosts", "root"))
    return DiscoverySource(
        name=name,
        files=_files(section.part("file_sd", ("files",))) if kind == "file_sd" else (),
        url=endpoint.url() if endpoint and kind == "http_sd" else "",
        yarn=endpoint.url() if endpoint and kind == "yarn" else "",
        zookeeper=_ensemble(ensemble) if kind == "zookeeper" else (),
        root=ensemble.text("root") or "/flink",
        kubernetes=_kubernetes(section) if kind == "kubernetes" else None,
        own_auth=endpoint.auth() if endpoint else None,
        own_tls=endpoint.tls() if endpoint else None,
        refresh_s=_refresh_s(section),
        cluster=section.text("cluster"),
        scheme="https" if scheme == "https" else "http",
        labels=_labels(section.part("labels")),
        hosts=hosts,
        auth=auth,
        tls=section.tls(),
        logs=_logs(section),
        prometheus=_prometheus(section),
    )


def _files(section: Section) -> tuple[str, ...]:
    files = section.texts("files")
    are_valid = (file.endswith(FILE_ENDINGS) and Path(file).is_absolute() for file in files)
    if not files or not all(are_valid):
        raise ValueError(
            f"{section.location} needs 'files': absolute paths or globs that end in "
            f"{', '.join(FILE_ENDINGS)}"
        )
    return files


def _ensemble(section: Section) -> tuple[str, ...]:
    hosts = section.texts("hosts")
    if not hosts or not all(_HOST.fullmatch(host) for host in hosts):
        raise ValueError(f"{section.location} needs 'hosts', such as ['zk1:2181', 'zk2:2181']")
    return hosts


def _kubernetes(section: Section) -> KubernetesSource:
    part = section.part(
        "kubernetes",
        ("kubeconfig", "context", "namespaces", "selector", "read", "address", "leader"),
    )
    kubeconfig, context = part.text("kubeconfig"), part.text("context")
    if kubeconfig and not Path(kubeconfig).is_absolute():
        part.refuse(
            "'kubeconfig' must be an absolute path; without it the service account of the pod is "
            "used"
        )
    if context and not kubeconfig:
        part.refuse("'context' is one of a 'kubeconfig'")
    namespaces = part.texts("namespaces")
    if len(namespaces) > MAX_NAMESPACES or not all(
        namespace == OWN_NAMESPACE or _NAMESPACE.fullmatch(namespace) for namespace in namespaces
    ):
        part.refuse(
            f"'namespaces' must be at most {MAX_NAMESPACES} names of namespaces, or "
            f'"{OWN_NAMESPACE}"; none means all'
        )
    read = part.texts("read")
    if not set(read) <= set(READABLE):
        part.refuse(f"'read' must be of {', '.join(READABLE)}")
    leader = part.flag("leader") or "leaders" in read
    address = part.text("address") or ADDRESS
    if set("{}") & set(_PLACEHOLDERS.sub("", address)):
        part.refuse("'address' may hold {service}, {namespace}, {name} and {port}")
    return KubernetesSource(
        kubeconfig, context, namespaces, part.text("selector"), read, address, leader
    )


def _labels(section: Section) -> dict[str, str]:
    labels: Mapping[Any, Any] = section.values
    if any(
        not isinstance(text, str) or str(name).startswith("__") for name, text in labels.items()
    ):
        section.refuse(
            "these are names with texts, such as team: '{__meta_team}'; numbers and yes/no need "
            "quotes"
        )
    return dict(labels)


def _refresh_s(section: Section) -> int:
    seconds = section.values.get("refresh_s", 15)
    if type(seconds) is not int or not 5 <= seconds <= 3600:
        section.refuse("'refresh_s' must be seconds, from 5 to 3600")
    return seconds


def _logs(section: Section) -> LogSource | None:
    if section.values.get("logs") is None:
        return None
    logs = section.part("logs", ("globs", "layout", "time_zone"))
    zone, layout = logs.text("time_zone") or "UTC", logs.text("layout") or "flink"
    if zone not in available_timezones():
        logs.refuse("'time_zone' must be an IANA name such as Europe/Berlin")
    try:
        zone_of("", layout_of(layout))
    except Refused as error:
        logs.refuse(f"'layout': {error}")
    return LogSource(logs.texts("globs"), layout, zone)


def _prometheus(section: Section) -> PrometheusSource | None:
    if section.values.get("prometheus") is None:
        return None
    part = section.part("prometheus", ("url", "selector", "tenant", *_SIGN_IN_KEYS))
    tls = part.tls() or Tls()
    if tls.client_cert_file or not tls.verify:
        part.refuse("tls_config: only 'ca_file' is known; its certificate is always checked")
    return PrometheusSource(
        part.url(), part.text("selector"), part.auth(), tls.ca_file, part.text("tenant")
    )
