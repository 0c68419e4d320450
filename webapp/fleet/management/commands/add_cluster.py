import getpass
import os
import sys
from argparse import ArgumentParser
from typing import Any, cast

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import models

from ingest import source_registry
from webapp.config.preparation import CommandRefused, PreparedCommand
from webapp.fleet.choices import AuthScheme, ClusterKind, LogStoreKind, LogStoreSignIn
from webapp.fleet.connection_test import TestReport, check_connection
from webapp.fleet.models import Cluster
from webapp.fleet.models.cluster import ENTERED, SECRETS
from webapp.fleet.registration import register
from webapp.fleet.sign_ins import JOBMANAGER, LOG_STORE, PROMETHEUS, needs_secret
from webapp.lib.refusals import refusal_text

SIGN_INS = (
    ("--auth", JOBMANAGER, AuthScheme, "WEIR_CLUSTER_SECRET"),
    ("--prometheus-auth", PROMETHEUS, AuthScheme, "WEIR_PROMETHEUS_SECRET"),
    ("--log-auth", LOG_STORE, LogStoreSignIn, "WEIR_LOG_STORE_SECRET"),
)
OPTIONS = {
    setting.option: setting.field
    for setting in source_registry.settings()
    if setting.option and setting.field != "log_store_url"
} | {
    "--prometheus-labels": "prometheus_selector",
    "--prometheus-ca": "prometheus_ca_file",
    "--prometheus-tenant": "prometheus_tenant",
    "--log-query": "log_store_query",
    "--log-index": "log_store_index",
    "--log-tenant": "log_store_tenant",
    "--log-history": "log_store_backfill_h",
    "--layout": "log_layout",
    "--time-zone": "time_zone",
    "--ca": "ca_file",
    "--cert": "client_cert_file",
    "--key": "client_key_file",
}


class Command(PreparedCommand):
    help = (
        "Register a Flink cluster, after a connection test that shows what Weir sees. Passwords and "
        f"tokens are read from the variables {', '.join(row[3] for row in SIGN_INS)}, from "
        "standard input or a prompt. None is ever an argument. Exit code 0, 1 if the cluster does "
        "not answer (then nothing is registered), 2 if the input is invalid."
    )

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """argparse would not find an address after options."""
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        parser.parse_args = parser.parse_intermixed_args  # type: ignore[method-assign]
        return parser

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "name", metavar="NAME", help="letters, digits, dots, dashes; it never changes"
        )
        parser.add_argument(
            "url",
            metavar="URL",
            nargs="?",
            default="",
            help="REST address of the JobManager, such as http://jobmanager:8081",
        )
        for option, name in OPTIONS.items():
            _add(parser, option, cast("models.Field[Any, Any]", Cluster._meta.get_field(name)))
        for option, sign_in, schemes, _variable in SIGN_INS:
            service = sign_in.prefix.rstrip("_").replace("_", " ") or "JobManager"
            parser.add_argument(
                option,
                default="",
                metavar="|".join(_spellings(schemes)),
                help=f"how to sign in to the {service}",
            )
        parser.add_argument(
            "--log-store",
            default="",
            metavar="KIND:URL",
            help="loki, elasticsearch or opensearch that stores its logs",
        )
        parser.add_argument(
            "--insecure",
            action="store_true",
            help="accept any server certificate; shown on the Clusters page",
        )
        parser.add_argument(
            "--replace",
            action="store_true",
            help="change a live cluster that is already registered",
        )
        parser.add_argument(
            "--untested", action="store_true", help="register it without a connection test"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        cluster = self._cluster(options)
        try:
            cluster.full_clean()
        except ValidationError as error:
            raise CommandRefused(refusal_text(error)) from error
        if not options["untested"]:
            report = check_connection(cluster)
            self._print(report)
            if not report.reachable:
                raise CommandError(
                    f"{cluster.name} is not registered. Use --untested to register it all the same."
                )
            cluster.misses = list(report.misses)
        if cluster.pk:
            cluster.save(update_fields=[*ENTERED, *SECRETS, "misses"])
        else:
            register(cluster)
        self.stdout.write(f"{cluster.name} is registered.")

    def _cluster(self, options: dict[str, Any]) -> Cluster:
        cluster: Cluster = Cluster.objects.filter(name=options["name"]).first() or Cluster(
            name=options["name"]
        )
        if cluster.pk and not (options["replace"] and cluster.kind == ClusterKind.LIVE):
            hint = (
                "use --replace to change it"
                if cluster.kind == ClusterKind.LIVE
                else "it is a recording; choose another name"
            )
            raise CommandRefused(f"There is a cluster {cluster.name} already: {hint}.")
        cluster.url, cluster.verify_tls = options["url"], not options["insecure"]
        for option, name in OPTIONS.items():
            setattr(cluster, name, options[_name(option)])
        kind, _, url = options["log_store"].partition(":")
        if kind not in LogStoreKind.values or bool(kind) != bool(url):
            raise CommandRefused(
                "--log-store must be loki:URL, elasticsearch:URL or opensearch:URL.",
            )
        cluster.log_store_kind, cluster.log_store_url = kind, url
        for option, sign_in, schemes, variable in SIGN_INS:
            scheme, _, user = options[_name(option)].partition(":")
            if scheme not in schemes.values or bool(user) != (scheme == AuthScheme.BASIC):
                *first, last = _spellings(schemes)
                raise CommandRefused(f"{option} must be {', '.join(first)} or {last}.")
            setattr(cluster, sign_in.scheme, scheme)
            setattr(cluster, sign_in.user, user)
            sign_in.store(cluster, _secret(option, variable) if needs_secret(scheme) else "")
        return cluster

    def _print(self, report: TestReport) -> None:
        self.stdout.write(report.sentence)
        for line in report.sees:
            self.stdout.write(f"  sees    {line}")
        for line in report.misses:
            self.stdout.write(f"  misses  {line}")


def _add(parser: ArgumentParser, option: str, field: "models.Field[Any, Any]") -> None:
    meaning = str(field.help_text or field.verbose_name)
    metavar = field.name.rpartition("_")[2].upper()
    if isinstance(field, models.BooleanField):
        parser.add_argument(option, action="store_true", help=meaning)
    elif isinstance(field, models.JSONField):
        parser.add_argument(
            option, action="append", default=[], metavar="GLOB", help=f"{meaning}; may be repeated"
        )
    else:
        default, is_integer = field.get_default(), isinstance(field, models.IntegerField)
        meaning += f" (default: {default})" if default else ""
        parser.add_argument(
            option, type=int if is_integer else str, default=default, metavar=metavar, help=meaning
        )


def _name(option: str) -> str:
    return option[2:].replace("-", "_")


def _spellings(schemes: type[models.TextChoices]) -> list[str]:
    return ["basic:USER" if value == "basic" else value for value in schemes.values if value]


def _secret(option: str, variable: str) -> str:
    secret = os.environ.get(variable, "")
    if not secret and sys.stdin.isatty():
        secret = getpass.getpass(f"Secret for {option}: ")
    elif not secret:
        secret = sys.stdin.readline().rstrip("\r\n")
    if not secret:
        raise CommandRefused(
            f"Give the password, token or key for {option} in {variable}, on standard input or at "
            "the prompt.",
        )
    return secret
