"""Register a Flink cluster to be watched."""

import getpass
import json
import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from webapp.config.preparation import REFUSED, PreparedCommand
from webapp.fleet.choices import AuthScheme, ClusterKind, LogStoreKind, LogStoreSignIn
from webapp.fleet.connection_test import TestReport, tried_connection
from webapp.fleet.models import Cluster
from webapp.fleet.registration import register

VARIABLE = "WEIR_CLUSTER_SECRET"
STORE_VARIABLE = "WEIR_LOG_STORE_SECRET"
PROMETHEUS_VARIABLE = "WEIR_PROMETHEUS_SECRET"


class Command(PreparedCommand):
    help = (
        "Register a Flink cluster, after a connection test that says what it sees. Exit code 0, 1 where it does not answer (nothing is "
        f"registered then), 2 where the input is invalid. A password or token is read from the variable {VARIABLE}, that of its Prometheus "
        f"from {PROMETHEUS_VARIABLE}, or from standard input, or asked for; that of its store of logs from the variable {STORE_VARIABLE}. "
        "None is ever an argument."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Options may stand between the name and the address, too: argparse alone takes the address for missing then."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.parse_args = parser.parse_intermixed_args  # type: ignore[method-assign]  # argparse has no switch for it
        return parser

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME", help="letters, digits, dots, dashes; it never changes")
        parser.add_argument(
            "url", metavar="URL", nargs="?", default="", help="REST address of the JobManager, such as http://jobmanager:8081"
        )
        parser.add_argument("--auth", default="", metavar="basic:USER|bearer|kerberos", help="how to sign in")
        parser.add_argument("--logs", action="append", default=[], metavar="GLOB", help="path, glob or URI of logs; may be repeated")
        parser.add_argument(
            "--hdfs-audit", action="append", default=[], metavar="GLOB", help="of audit logs of its NameNode; may be repeated"
        )
        parser.add_argument(
            "--namenode-jmx", default="", metavar="URL", help="web address of its NameNode (http://namenode:9870), whose JMX is read"
        )
        parser.add_argument("--pushed-logs", action="store_true", help="a log shipper pushes its logs; push_token issues a token")
        parser.add_argument("--prometheus", default="", metavar="URL", help="address of a Prometheus that scrapes Flink's reporter")
        parser.add_argument("--prometheus-labels", default="", metavar="MATCHERS", help='of this cluster\'s series: namespace="flink"')
        parser.add_argument("--log-store", default="", metavar="KIND:URL", help="loki, elasticsearch or opensearch, which holds its logs")
        parser.add_argument("--log-query", default="", metavar="QUERY", help='of its lines: {namespace="flink"}, or a Lucene query string')
        parser.add_argument("--log-index", default="", metavar="PATTERN", help="index of Elasticsearch or OpenSearch: logs-flink-*")
        parser.add_argument("--log-tenant", default="", metavar="TENANT", help="tenant of Loki")
        parser.add_argument("--log-auth", default="", metavar="basic:USER|bearer|api_key", help="how to sign in to the store")
        parser.add_argument(
            "--log-history", type=int, default=24, metavar="H", help="hours of history that are read at first (default: 24)"
        )
        parser.add_argument("--prometheus-auth", default="", metavar="basic:USER|bearer|kerberos", help="how to sign in there")
        parser.add_argument("--prometheus-ca", default="", metavar="FILE", help="PEM file of the authority of its certificate")
        parser.add_argument("--prometheus-tenant", default="", metavar="NAME", help="tenant of Mimir, Cortex or Thanos")
        parser.add_argument("--layout", default="flink", help="layout of the logs: flink, or a log4j pattern (default: flink)")
        parser.add_argument("--time-zone", default="UTC", metavar="ZONE", help="IANA name of the zone of the logs (default: UTC)")
        parser.add_argument("--ca", default="", metavar="FILE", help="PEM file of the authority to trust")
        parser.add_argument("--cert", default="", metavar="FILE", help="PEM file of the client certificate")
        parser.add_argument("--key", default="", metavar="FILE", help="PEM file of its key")
        parser.add_argument("--insecure", action="store_true", help="accept any server certificate; shown on the Clusters page")
        parser.add_argument("--history", default="", metavar="URL", help="REST address of the History Server")
        parser.add_argument("--archive", default="", metavar="DIR", help="folder or URI of the History Server's archives")
        parser.add_argument("--replace", action="store_true", help="change a live cluster that is registered already")
        parser.add_argument("--untested", action="store_true", help="register it without asking it anything")
        parser.add_argument("--json", action="store_true", help="one JSON object instead of words")

    def handle(self, *args: Any, **options: Any) -> None:
        cluster = self._cluster(options)
        try:
            cluster.full_clean()
        except ValidationError as error:
            raise CommandError(_in_words(error), returncode=REFUSED) from error
        report = None if options["untested"] else tried_connection(cluster)
        if report is not None and not report.reachable:
            self._report(cluster, report, options)
            raise CommandError(f"{cluster.name} is not registered. Use --untested to register it all the same.", returncode=1)
        if report is not None:
            cluster.sees, cluster.misses = list(report.sees), list(report.misses)
        if cluster.pk:
            cluster.save()
        else:
            register(cluster)
        self._report(cluster, report, options)

    def _cluster(self, options: dict[str, Any]) -> Cluster:
        cluster: Cluster = Cluster.objects.filter(name=options["name"]).first() or Cluster(name=options["name"])
        if cluster.pk and not (options["replace"] and cluster.kind == ClusterKind.LIVE):
            hint = "use --replace to change it" if cluster.kind == ClusterKind.LIVE else "it is a recording; choose another name"
            raise CommandError(f"There is a cluster {cluster.name} already: {hint}.", returncode=REFUSED)
        cluster.url, cluster.history_url, cluster.archive_dir = options["url"], options["history"], options["archive"]
        cluster.ca_file, cluster.client_cert_file, cluster.client_key_file = options["ca"], options["cert"], options["key"]
        cluster.verify_tls = not options["insecure"]
        cluster.logs_are_pushed = options["pushed_logs"]
        cluster.prometheus_url, cluster.prometheus_selector = options["prometheus"], options["prometheus_labels"]
        cluster.log_globs, cluster.log_layout, cluster.time_zone = options["logs"], options["layout"], options["time_zone"]
        self._log_store(cluster, options)
        cluster.hdfs_audit_globs, cluster.namenode_jmx_url = options["hdfs_audit"], options["namenode_jmx"]
        cluster.prometheus_ca_file, cluster.prometheus_tenant = options["prometheus_ca"], options["prometheus_tenant"]
        cluster.auth_scheme, cluster.auth_user, secret = _sign_in("--auth", options["auth"], VARIABLE, "")
        cluster.set_secret(secret)
        there = _sign_in("--prometheus-auth", options["prometheus_auth"], PROMETHEUS_VARIABLE, " of Prometheus")
        cluster.prometheus_auth_scheme, cluster.prometheus_auth_user, secret = there
        cluster.set_prometheus_secret(secret)
        return cluster

    def _log_store(self, cluster: Cluster, options: dict[str, Any]) -> None:
        kind, _, url = options["log_store"].partition(":")
        if kind not in LogStoreKind.values or bool(kind) != bool(url):
            raise CommandError("--log-store must be loki:URL, elasticsearch:URL or opensearch:URL.", returncode=REFUSED)
        scheme, _, user = options["log_auth"].partition(":")
        if scheme not in LogStoreSignIn.values or bool(user) != (scheme == LogStoreSignIn.BASIC):
            raise CommandError("--log-auth must be basic:USER, bearer or api_key.", returncode=REFUSED)
        secret = os.environ.get(STORE_VARIABLE, "") if scheme else ""
        if scheme and not secret:
            raise CommandError(f"Give the password, token or key of the store of logs in {STORE_VARIABLE}.", returncode=REFUSED)
        cluster.log_store_kind, cluster.log_store_url, cluster.log_store_query = kind, url, options["log_query"]
        cluster.log_store_index, cluster.log_store_tenant = options["log_index"], options["log_tenant"]
        cluster.log_store_auth_scheme, cluster.log_store_auth_user = scheme, user
        cluster.log_store_backfill_h = options["log_history"]
        cluster.set_log_store_secret(secret)

    def _report(self, cluster: Cluster, report: TestReport | None, options: dict[str, Any]) -> None:
        if options["json"]:
            seen = {"reachable": report.reachable, "sees": list(report.sees), "misses": list(report.misses)} if report else {}
            self.stdout.write(json.dumps({"cluster": cluster.name, "registered": cluster.pk is not None, **seen}))
            return
        if report is not None:
            self.stdout.write(report.sentence)
            for line in report.sees:
                self.stdout.write(f"  sees    {line}")
            for line in report.misses:
                self.stdout.write(f"  misses  {line}")
        if cluster.pk is not None:
            self.stdout.write(f"{cluster.name} is registered.")


def _sign_in(option: str, text: str, variable: str, whose: str) -> tuple[str, str, str]:
    """Scheme, user and secret."""
    scheme, _, user = text.partition(":")
    if scheme not in AuthScheme.values or bool(user) != (scheme == AuthScheme.BASIC):
        raise CommandError(f"{option} must be basic:USER, bearer or kerberos.", returncode=REFUSED)
    return scheme, user, _secret(scheme, variable, whose) if scheme in (AuthScheme.BASIC, AuthScheme.BEARER) else ""


def _secret(scheme: str, variable: str, whose: str) -> str:
    """From the variable, else from a terminal unseen, else one line of standard input."""
    word = ("Password" if scheme == AuthScheme.BASIC else "Token") + whose
    secret = os.environ.get(variable, "")
    if not secret:
        secret = getpass.getpass(f"{word}: ") if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n")
    if not secret:
        raise CommandError(f"Give the {word[0].lower()}{word[1:]} in {variable}, on standard input or at the prompt.", returncode=REFUSED)
    return secret


def _in_words(error: ValidationError) -> str:
    fields = error.message_dict.items() if hasattr(error, "error_dict") else [("__all__", error.messages)]
    return " ".join(f"{message}" if field == "__all__" else f"{field}: {message}" for field, messages in fields for message in messages)
