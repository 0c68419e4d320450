import ipaddress
import re
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from ingest.discovery.sources import DiscoverySource, FoundCluster, Listing, RefusedTarget
from ingest.discovery.target_groups import Target
from ingest.messages import message
from ingest.network.clusters import refusal

CLUSTER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(:[0-9]{1,5})?")
_PATH = re.compile(r"(/[A-Za-z0-9._~%@,:+-]+)*/?")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")
METRICS_PATH = "/metrics"
LONGEST_URL = 500


class _Refused(ValueError):
    pass


def listing_of(source: DiscoverySource, targets: Iterable[Target], error: str = "") -> Listing:
    """Of two different clusters with the same name, the second is refused."""
    clusters: dict[str, FoundCluster] = {}
    refused = []
    for target in targets:
        name = ""
        try:
            labels = {
                **target.labels,
                "__address__": target.labels.get("__address__", target.address),
            }
            url = _url(source, labels)
            labels |= {
                label: fill(template, labels)[:500] for label, template in source.labels.items()
            }
            name = _name(source, labels)
            if labels.get("cluster") == name:
                del labels["cluster"]  # already reported
            own_labels = {
                key: text
                for key, text in sorted(labels.items())
                if not key.startswith("__") and text
            }
            cluster = FoundCluster(name, url, own_labels, target.operator, target.pods)
            existing = clusters.setdefault(name, cluster)
            if existing != cluster:
                raise _Refused(
                    message(
                        "{url:name} already has the name {name:name}; set 'cluster' of the "
                        "source to labels that differ",
                        url=existing.url,
                        name=name,
                    )
                )
        except _Refused as why:
            refused.append(RefusedTarget(target.address[:200], str(why), name))
    return Listing(tuple(clusters.values()), tuple(refused), error)


def fill(template: str, labels: Mapping[str, str]) -> str:
    """The template with ``{label}`` replaced by its value, "" without a value."""
    return _PLACEHOLDER.sub(lambda match: labels.get(match[1], ""), template)


def matchers(template: str, cluster: FoundCluster) -> str:
    """Matchers of a Prometheus selector: the template with the cluster's name (``{cluster}``) and
    labels, escaped for quotes.
    """
    texts = {
        name: text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        for name, text in cluster.labels.items()
    }
    return fill(template, {**texts, "cluster": cluster.name})


def _name(source: DiscoverySource, labels: Mapping[str, str]) -> str:
    name = fill(source.cluster or "{cluster}", labels)
    if not name and not source.cluster:
        name = _NOT_IN_NAMES.sub("-", labels["__address__"]).strip("-")
    if not CLUSTER_NAME.fullmatch(name):
        raise _Refused(
            message(
                "{written:text} is not a valid cluster name: letters, digits, dots, dashes "
                "and underscores, 100 at most",
                written=f"{name[:100]!r}",
            )
        )
    return name


def _url(source: DiscoverySource, labels: Mapping[str, str]) -> str:
    address = labels["__address__"]
    scheme = labels.get("__scheme__") or source.scheme
    path = labels.get("__metrics_path__", "")
    if scheme not in ("http", "https"):
        raise _Refused(
            message(
                "__scheme__ is {scheme:text}, and must be http or https", scheme=f"{scheme[:20]!r}"
            )
        )
    if source.auth and scheme != source.scheme:
        raise _Refused(
            message(
                "__scheme__ is {scheme:name}, and the credentials of the source are for "
                "{scheme2:name}",
                scheme=scheme,
                scheme2=source.scheme,
            )
        )
    path = "" if path in ("", METRICS_PATH) else path
    url = f"{scheme}://{address}{path}".rstrip("/")
    if not _PATH.fullmatch(path) or len(url) > LONGEST_URL:
        raise _Refused(
            message("__metrics_path__ is not a plain path, such as /proxy/application_1")
        )
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        is_address = _ADDRESS.fullmatch(address) is not None and parts.port != 0
    except ValueError:
        is_address = False
    if not is_address:
        raise _Refused(message("it is not an address of the form host:port"))
    if source.hosts and not any(fnmatchcase(host, glob.lower()) for glob in source.hosts):
        raise _Refused(message("its host matches none of the source's 'hosts'"))
    try:
        why = refusal(str(ipaddress.ip_address(host)))
    except ValueError:
        why = ""  # a host name: its address is checked at each request
    if why:
        raise _Refused(message("it {why:text}", why=why))
    return url
