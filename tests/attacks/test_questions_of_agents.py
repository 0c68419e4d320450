"""An agent asks each tool what nobody honest asks, and with a token of one cluster about another."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.attacks.inhabited import somebody, token_of
from tests.attacks.questions import VALUES
from tests.attacks.scale import examples
from tests.attacks.test_scopes import CANARY, Theirs, scoped, theirs
from webapp.accounts.roles import Role
from webapp.findings.models import Finding
from webapp.site.agents.tools import TOOLS

__all__ = ["theirs"]

HEADERS = {"accept": "application/json, text/event-stream"}
HOSTILE: tuple[Any, ...] = (
    "\ud800",
    "²",
    "9" * 2_000,
    "a\udfff",
    "٣",
    "-1",
    *VALUES,
    None,
    7,
    10**400,
    [],
    {"a": []},
)


ANSWERED = (200, 400)
"""Else nobody is signed in, or may ask no more, and nothing was tried."""


def arguments_for(finding: Finding) -> dict[str, str]:
    return {"cluster": finding.cluster, "job": finding.job_id, "finding": str(finding.pk)}


def ask(client: Client, token: str, tool: Any, arguments: Any) -> Any:
    question = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }
    return client.post(
        "/mcp",
        json.dumps(question),
        content_type="application/json",
        headers={**HEADERS, "authorization": f"Bearer {token}"},
    )


@pytest.mark.usefixtures("inhabited")
def test_no_question_breaks_a_tool() -> None:
    client, token = Client(raise_request_exception=False), token_of(somebody(Role.VIEWER), "read")
    good = {**arguments_for(Finding.objects.order_by("pk")[0]), "rule": "pressure.root"}
    broken = []
    for tool in TOOLS.values():
        known = {name: good[name] for name in tool.arguments if name in good}
        for name in tool.arguments:
            for value in HOSTILE[: examples(3, len(HOSTILE))]:
                answer = ask(client, token, tool.name, {**known, name: value})
                broken += [] if answer.status_code in ANSWERED else [(tool.name, name, value)]
    for tool in HOSTILE[: examples(3, len(HOSTILE))]:
        broken += [] if ask(client, token, tool, {}).status_code in ANSWERED else [tool]
    assert not broken


def test_no_tool_tells_of_a_cluster_that_is_not_seen(theirs: Theirs) -> None:
    """Nor whether there is one: what others have is answered as what nobody has."""
    client, token = Client(), token_of(scoped(Role.VIEWER), "read")
    there = arguments_for(Finding.objects.filter(cluster=CANARY)[0])
    nowhere = {"cluster": "nobody", "job": "f" * 32, "finding": "987654"}
    wrong = []
    for tool in TOOLS.values():
        for more in ({}, {"root": theirs.root}):
            of_theirs, of_nobody = (
                ask(
                    client,
                    token,
                    tool.name,
                    {name: named[name] for name in named if name in tool.arguments},
                )
                for named in ({**there, **more}, {**nowhere, **more})
            )
            assert of_theirs.status_code == 200
            if of_theirs.content != of_nobody.content or theirs.told_by(of_theirs):
                wrong.append((tool.name, of_theirs.content, of_nobody.content))
    assert not wrong
