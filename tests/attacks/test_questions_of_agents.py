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
    "a\udfff",
    "²",
    "٣",
    "9" * 2_000,
    "-1",
    *VALUES,
    None,
    7,
    10**400,
    [],
    {"a": []},
)


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
    job, found = Finding.objects.values_list("cluster", "job_id").first(), Finding.objects.first()
    good = {
        "cluster": job[0],
        "job": job[1],
        "finding": str(found.pk),
        "rule": "pressure.root",
    }
    broken = []
    for tool in TOOLS.values():
        known = {name: good[name] for name in tool.arguments if name in good}
        for name in tool.arguments:
            for value in HOSTILE[: examples(3, len(HOSTILE))]:
                answer = ask(client, token, tool.name, {**known, name: value})
                broken += [(tool.name, name, value)] if answer.status_code >= 500 else []
    for tool in HOSTILE[: examples(3, len(HOSTILE))]:
        broken += [tool] if ask(client, token, tool, {}).status_code >= 500 else []
    assert not broken


def test_no_tool_tells_of_a_cluster_that_is_not_seen(theirs: Theirs) -> None:
    """Nor whether there is one: what others have is answered as what nobody has."""
    client, token = Client(), token_of(scoped(Role.VIEWER), "read")
    row = Finding.objects.filter(cluster=CANARY)[0]
    root = next(query["uri"] for _, _, query in theirs.doors if query.get("uri"))
    told = []
    for tool in TOOLS.values():
        there = {"cluster": CANARY, "job": row.job_id, "finding": str(row.pk)}
        nowhere = {"cluster": "nobody", "job": "f" * 32, "finding": "987654"}
        for more in ({}, {"root": root}):
            answers = [
                ask(
                    client,
                    token,
                    tool.name,
                    {
                        name: text
                        for name, text in {**asked, **more}.items()
                        if name in tool.arguments
                    },
                ).content
                for asked in (there, nowhere)
            ]
            found = theirs.within(answers[0].decode())
            told += [(tool.name, answers)] if answers[0] != answers[1] or found else []
    assert not told
