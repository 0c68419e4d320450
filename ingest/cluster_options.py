"""Command line options that describe one cluster, or a file that describes many."""

import argparse
import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

from ingest.errors import Refused
from ingest.sources import Auth, ClusterSource, LogSource, Tls


def add_connection_arguments(parser: argparse.ArgumentParser) -> None:
    """How to reach and sign in.

    Secrets come from files or the environment, never from the command line.
    """
    parser.add_argument("--user", help="user of basic authentication")
    parser.add_argument(
        "--password-file",
        type=Path,
        metavar="FILE",
        help="its password (or set WEIR_CLUSTER_PASSWORD)",
    )
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help="bearer token instead (or set WEIR_CLUSTER_TOKEN)",
    )
    parser.add_argument(
        "--ca-file", default="", metavar="PEM", help="certificate authority of the cluster"
    )
    parser.add_argument("--client-cert", default="", metavar="PEM", help="client certificate")
    parser.add_argument("--client-key", default="", metavar="PEM", help="its key")
    parser.add_argument(
        "--insecure", action="store_true", help="accept any certificate of the cluster"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=10,
        metavar="S",
        help="seconds for one request (default: 10)",
    )


def add_log_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--logs",
        action="append",
        default=[],
        metavar="GLOB",
        help="log files, local or any fsspec URI; may be given often",
    )
    parser.add_argument(
        "--log-time-zone",
        default="UTC",
        metavar="ZONE",
        help="IANA name of the zone of the logs (default: UTC)",
    )
    parser.add_argument(
        "--log-layout",
        default="flink",
        metavar="PATTERN",
        help="log4j pattern where it is not one of Flink's defaults",
    )


def source_of(args: argparse.Namespace, name: str, url: str) -> ClusterSource:
    """Raises ``Refused`` where a secret cannot be read or two ways to sign in are given."""
    return ClusterSource(
        name=name,
        url=url,
        auth=_auth(args),
        tls=Tls(
            ca_file=args.ca_file,
            client_cert_file=args.client_cert,
            client_key_file=args.client_key,
            verify=not args.insecure,
        ),
        logs=LogSource(
            globs=tuple(args.logs), layout=args.log_layout, time_zone=args.log_time_zone
        ),
        request_timeout_s=args.timeout,
    )


def sources_in(path: Path) -> list[ClusterSource]:
    """Clusters of a JSON file: a list of objects with the fields of ``ClusterSource``.

    ``auth.secret`` may be replaced by ``auth.secret_file``. Raises ``Refused`` naming the entry
    that is wrong.
    """
    try:
        document = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Refused(f"{path} is not a readable JSON file of clusters.") from error
    if not isinstance(document, list) or not document:
        raise Refused(
            f"{path} must hold a JSON list of clusters, each with at least a name and a url."
        )
    sources = [
        _source(entry, f"{path}, cluster {number}")
        for number, entry in enumerate(document, start=1)
    ]
    if len({source.name for source in sources}) < len(sources):
        raise Refused(f"{path} names a cluster twice.")
    return sources


def _source(entry: Any, place: str) -> ClusterSource:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or not entry["name"]:
        raise Refused(f"{place}: expected an object with a name.")
    known = {field.name for field in fields(ClusterSource)}
    if unknown := sorted(set(entry) - known):
        raise Refused(
            f"{place}: {', '.join(unknown)} is not a field of a cluster; known are "
            f"{', '.join(sorted(known))}."
        )
    try:
        parts: dict[str, Any] = dict(entry)
        if isinstance(parts.get("auth"), dict):
            parts["auth"] = _auth_of(parts["auth"], place)
        if isinstance(parts.get("tls"), dict):
            parts["tls"] = Tls(**parts["tls"])
        if isinstance(parts.get("logs"), dict):
            parts["logs"] = LogSource(
                **{**parts["logs"], "globs": tuple(parts["logs"].get("globs", ()))}
            )
        return ClusterSource(**parts)
    except TypeError as error:
        raise Refused(f"{place}: a field of auth, tls or logs is unknown or missing.") from error


def _auth_of(entry: dict[str, Any], place: str) -> Auth:
    secret = (
        _read_secret(Path(entry["secret_file"]))
        if "secret_file" in entry
        else entry.get("secret", "")
    )
    if entry.get("scheme") not in ("basic", "bearer", "kerberos"):
        raise Refused(f"{place}: auth.scheme must be basic, bearer or kerberos.")
    return Auth(entry["scheme"], str(secret), str(entry.get("user", "")))


def _auth(args: argparse.Namespace) -> Auth | None:
    token = (
        _read_secret(args.token_file)
        if args.token_file
        else os.environ.get("WEIR_CLUSTER_TOKEN", "")
    )
    if args.user and args.token_file:
        raise Refused("Give either --user with a password or --token-file, not both.")
    if args.user:
        password = (
            _read_secret(args.password_file)
            if args.password_file
            else os.environ.get("WEIR_CLUSTER_PASSWORD", "")
        )
        return Auth("basic", password, args.user)
    return Auth("bearer", token) if token else None


def _read_secret(path: Path) -> str:
    try:
        return path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"The secret in {path} cannot be read.") from error
