"""Running applications of Flink on YARN, reached through their tracking URLs.

``GET /ws/v1/cluster/apps`` of Hadoop's ResourceManager REST API; ``{"apps": null}`` for none.
"""

import re
from typing import Any
from urllib.parse import urlsplit

from ingest.discovery.target_groups import MAX_TARGETS, MAX_VALUE, Target
from ingest.errors import Skipped
from ingest.messages import message
from ingest.redaction.texts import redact

APPLICATIONS = "/ws/v1/cluster/apps?states=RUNNING&applicationTypes=Apache%20Flink"
LABELS = {
    "id": "application_id",
    "name": "name",
    "user": "user",
    "queue": "queue",
    "applicationTags": "tags",
}

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


def applications(document: Any) -> list[Target]:
    listing = document.get("apps", document) if isinstance(document, dict) else document
    if listing is None:
        return []
    apps = listing.get("app") if isinstance(listing, dict) else None
    if not isinstance(apps, list) or not all(isinstance(app, dict) for app in apps):
        raise Skipped(
            "it must be {'apps': {'app': [...]}}, as a ResourceManager lists applications"
        )
    if len(apps) > MAX_TARGETS:
        raise Skipped(
            message("it lists more than {max_targets:count} applications", max_targets=MAX_TARGETS)
        )
    return [
        _target(app) for app in apps if app.get("state") == "RUNNING" and app.get("trackingUrl")
    ]


def _target(application: dict[str, Any]) -> Target:
    labels = {
        f"__meta_yarn_{label}": redact(str(application.get(name) or "")[:MAX_VALUE])
        for name, label in LABELS.items()
    }
    try:
        tracking_url = urlsplit(str(application["trackingUrl"]))
    except ValueError:
        tracking_url = urlsplit("")
    labels |= {
        "cluster": _NOT_IN_NAMES.sub("-", labels["__meta_yarn_name"]).strip("-"),
        "__scheme__": tracking_url.scheme,
        "__metrics_path__": tracking_url.path,
    }
    return Target(tracking_url.netloc, labels)
