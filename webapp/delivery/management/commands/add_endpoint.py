import os
from argparse import ArgumentParser
from typing import Any

from webapp.config.preparation import PreparedCommand
from webapp.delivery import addresses
from webapp.delivery.choices import FormatName
from webapp.delivery.endpoint_entry import EndpointEntry, enter
from webapp.delivery.formats.registry import FORMATS
from webapp.delivery.models import Endpoint
from webapp.findings.choices import Severity
from webapp.lib.command_line import ask_secret
from webapp.lib.matchers import parse_lines
from webapp.lib.refusals import InputRefused

URL_VARIABLE, CREDENTIAL_VARIABLE = "WEIR_ENDPOINT_URL", "WEIR_ENDPOINT_CREDENTIAL"


class Command(PreparedCommand):
    help = (
        f"Add an endpoint. Its address is read from the variable {URL_VARIABLE}, from standard "
        "input, or from a prompt, because the address of a chat bot is a secret. Its key or "
        f"sign-in is read from {CREDENTIAL_VARIABLE}, or from a prompt if the format needs one. A "
        "secret that Weir creates is printed only once. Exit code 0, or 2 if the input is invalid."
    )

    refusals = (InputRefused,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="NAME")
        parser.add_argument(
            "--format", default=FormatName.WEIR, choices=FormatName.values, help="default: weir"
        )
        parser.add_argument(
            "--email",
            action="append",
            default=[],
            metavar="ADDRESS",
            help="recipient, for format email; may be repeated",
        )
        parser.add_argument(
            "--match",
            action="append",
            default=[],
            metavar="MATCHER",
            help='such as cluster="prod-eu"; may be repeated, all have to match',
        )
        parser.add_argument(
            "--min-severity",
            default=Severity.WARNING,
            choices=Severity.values,
            help="default: warning",
        )
        parser.add_argument(
            "--owner",
            default="",
            metavar="ADDRESS",
            help="e-mail address to notify when Weir disables the endpoint after failures",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        entered = EndpointEntry(
            name=options["name"],
            format=options["format"],
            url=None if options["format"] == FormatName.EMAIL else _url(options["format"]),
            credential=_credential(options["format"]),
            emails=tuple(options["email"]),
            matchers=parse_lines("\n".join(options["match"])),
            min_severity=options["min_severity"],
            owner_email=options["owner"],
        )
        endpoint = Endpoint()
        secret = enter(endpoint, entered, addresses.policy())
        self.stdout.write(f"{endpoint.name} is added.")
        if secret:
            self.stdout.write(f"Its secret, shown this once: {secret}")


def _url(name: str) -> str | None:
    url = os.environ.get(URL_VARIABLE, "")
    return url or (None if FORMATS[name].default_url else ask_secret("Address"))


def _credential(name: str) -> str | None:
    credential = os.environ.get(CREDENTIAL_VARIABLE, "")
    if credential or not FORMATS[name].credential_required:
        return credential or None
    return ask_secret(FORMATS[name].credential)
