"""Each parameter that a page reads gets what nobody honest sends, by itself: a page that refuses
the first of six wrong ones is never asked about the others.

What a page reads is watched while it answers, so a new parameter is asked by itself.
"""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.http import QueryDict
from django.test import Client
from django_filters.utils import translate_validation

from tests.attacks.inhabited import somebody
from tests.attacks.places import Place, content_of, places
from tests.attacks.questions import CURSORS, VALUES
from tests.attacks.scale import examples
from webapp.accounts.roles import Role
from webapp.lib.filter_sets import ListFilters

MOST_CPU_S = 2.0
RAW = (
    *(f"={quote(value)}" for value in (*VALUES, "9" * 5_000, "-" + "9" * 5_000)),
    "",
    "=%ED%A0%80",
    "=a%ED%BF%BFb",
    "=%FF%FE",
    "=%C0%80",
    "=%",
    "=%zz",
    "=1&{0}=2",
    "={0}&{0}=",
    "[]=1&{0}[]=2",
    "[a]=1",
    "=1e9999",
    "=-9223372036854775809",
    "=18446744073709551616",
    "=2147483648",
    "=1.5",
    "=0x10",
    "=1_000",
    "=%D9%A1%D9%A2",
    "=Europe/../../../etc/passwd",
    "=Mars/Olympus",
    "=UTC%00",
    "=job",
    "=-cluster",
    "=password",
    "=user__password",
    "=cluster__labels",
    "=-pk",
    "=%3F",
    "=//evil.example/x",
    "=https:evil.example",
    "=/%09/evil.example",
    "=\\evil.example",
    "=javascript:alert(1)",
    "=99999",
    "=-99999",
    "=now-9999d",
    "=9999-12-31T23:59:59.999999999Z",
    "=-0001-01-01",
    "=+292278994-08-17T07:12:55.807Z",
    "=1e3",
    "=253402300800000",
    "=-62135596800001",
    "=" + "(" * 190,
    "=" + quote('x=~"' + "(a|b)" * 35 + '"'),
    "=" + quote("a" * 200 + "!"),
    "=" + "%25" * 3000,
    "=" + "_" * 400,
    "=" + quote("\U0001f600" * 1000),
    "=" + quote("ß" * 150),
    *(f"={cursor}" for cursor in CURSORS[:16]),
)
"""``{0}`` is the parameter's name."""
MARK = "<q'\"&attack-mark>"
"""Is never to be found in a page as it is."""
LEFT_OUT = {"/readyz", "sign-out"}


@contextmanager
def watched() -> Iterator[set[str]]:
    """Names that views read of their queries."""
    names: set[str] = set()
    with pytest.MonkeyPatch.context() as patched:
        for method in ("get", "getlist", "__getitem__", "__contains__", "pop"):
            _watch(patched, method, names)
        init = ListFilters.__init__

        def declares(self: Any, *args: Any, **kwargs: Any) -> None:
            names.update({*self.base_filters, *self.aliases})
            init(self, *args, **kwargs)

        patched.setattr(ListFilters, "__init__", declares)
        yield names


def _watch(patched: pytest.MonkeyPatch, method: str, names: set[str]) -> None:
    before = getattr(QueryDict, method)

    def read(self: Any, name: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(name, str):
            names.add(name)
        return before(self, name, *args, **kwargs)

    patched.setattr(QueryDict, method, read)


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def parameters_of(place: Place, client: Client) -> list[str]:
    with watched() as names:
        content_of(client.get(place.filled(known=True), place.asks_for))
    return sorted(names)


def asked(place: Place, name: str, count: int) -> Iterator[str]:
    raw = list(RAW)
    Random(f"{place.label} {name}").shuffle(raw)
    others = {other: value for other, value in place.asks_for.items() if other != name}
    for value in raw[:count]:
        query = f"{quote(name)}{value.replace('{0}', quote(name))}"
        yield f"{query}&{urlencode(others)}" if others else query
    yield urlencode({**others, name: MARK})


@pytest.mark.usefixtures("inhabited")
def test_no_parameter_breaks_a_page_keeps_it_busy_or_comes_back_unescaped() -> None:
    client = Client(raise_request_exception=False)
    client.force_login(somebody(Role.ADMIN, is_superuser=True))
    tried, wrong = 0, []
    for place in [place for place in places() if place.label not in LEFT_OUT][:: examples(40, 1)]:
        path = place.filled(known=True)
        for name in parameters_of(place, client):
            for query in asked(place, name, examples(1, 14)):
                before = cpu_s()
                answer = client.get(f"{path}?{query}")
                content = content_of(answer)
                took = cpu_s() - before
                is_page = answer.headers.get("Content-Type", "").startswith("text/html")
                tried += 1
                if (
                    answer.status_code >= 500
                    or took > MOST_CPU_S
                    or (is_page and MARK.encode() in content)
                    or "evil.example" in answer.headers.get("Location", "").partition("?")[0]
                ):
                    wrong.append((path, query[:200], answer.status_code, round(took, 2)))
    assert tried >= examples(30, 10_000)
    assert not wrong, f"{len(wrong)} of {tried}: {wrong[:20]}"


@pytest.mark.parametrize("value", ["%", "100%s", "%(given)s", "{0}{error}"])
@pytest.mark.django_db
def test_what_a_list_refuses_may_look_like_a_format(value: str) -> None:
    """django-filter formats the messages of the API once more."""
    filters, refusals = ListFilters.__subclasses__(), 0
    for kind in filters:
        filters += kind.__subclasses__()
        for name in kind.parameters():
            if not (refused := kind({name: value})).is_valid():
                refusals += 1
                error = translate_validation(refused.errors)
                assert value in str(error.detail[name][0])
    assert len(filters) >= 30 and refusals >= 100
