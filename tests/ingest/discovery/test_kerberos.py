"""YARN whose ResourceManager and proxy want tickets: a real KDC (MIT's) gives them, a real acceptor
(its GSSAPI) judges them.
"""

import asyncio
import base64
import shutil
import sys

import pytest

from ingest.discovery.declared import parse_sources
from ingest.discovery.reading import _read_all
from ingest.errors import Refused
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import BadAnswer
from ingest.sources import Auth
from tests.ingest.discovery.test_yarn import APPLICATION
from tests.ingest.flink_rest.serving import Reply, Server, told

NEEDED = (
    "needs gssapi, k5test and an MIT KDC: apt-get install krb5-kdc krb5-admin-server "
    "krb5-user libkrb5-dev"
)
CONF = {"libdefaults": {"dns_canonicalize_hostname": "false", "rdns": "false"}}


def test_without_the_library_it_is_said_which_one_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "gssapi", None)

    async def ask():
        async with RestClient("http://localhost:1", auth=Auth("kerberos")) as client:
            await client.get("/overview")

    with pytest.raises(Refused, match="pip install 'weir\\[kerberos\\]'"):
        asyncio.run(ask())


@pytest.fixture(scope="module")
def gssapi():
    library = pytest.importorskip("gssapi", reason=NEEDED)
    if not (shutil.which("krb5kdc") and shutil.which("kadmin.local")):
        pytest.skip(NEEDED)
    return library


@pytest.fixture(scope="module")
def realm(gssapi):
    """Where ``weir`` has a keytab, and a server on this machine its own."""
    k5test = pytest.importorskip("k5test", reason=NEEDED)
    realm = k5test.K5Realm(krb5_conf=CONF, create_user=False, get_creds=False, create_host=False)
    for principal, keytab in (("weir", "client"), ("HTTP/localhost", "service")):
        realm.addprinc(principal)
        realm.extract_keytab(principal, f"{realm.tmpdir}/{keytab}.keytab")
    yield realm
    realm.stop()


@pytest.fixture
def signed_in(realm, monkeypatch):
    for name, value in realm.env.items():
        if name.startswith("KRB5"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{realm.tmpdir}/tickets")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", f"{realm.tmpdir}/client.keytab")
    monkeypatch.setenv("KRB5RCACHENAME", "none:")
    return realm


class Secured:
    """Answers whom its acceptor knows; everybody else is told to negotiate."""

    def __init__(self, gssapi, realm, answer):
        self._gssapi, self._answer, self.seen, self.tokens = gssapi, answer, [], []
        self._own = gssapi.Credentials(
            usage="accept", store={"keytab": f"{realm.tmpdir}/service.keytab"}
        )

    def __call__(self, path, headers):
        scheme, _, token = headers.get("Authorization", "").partition(" ")
        if scheme != "Negotiate":
            return Reply(status=401, headers={"WWW-Authenticate": "Negotiate"})
        context = self._gssapi.SecurityContext(creds=self._own, usage="accept")
        context.step(base64.b64decode(token))
        self.seen.append(str(context.initiator_name))
        self.tokens.append(token)
        return told(self._answer)


async def listing(server, more):
    (source,) = parse_sources(
        {
            "sources": [
                {"name": "s", "yarn": {"url": server.url.replace("127.0.0.1", "localhost"), **more}}
            ]
        }
    )
    (found,) = await _read_all([source])
    return found


def test_applications_are_listed_to_who_has_a_ticket_and_to_nobody_else(gssapi, signed_in):
    async def ask():
        answer = Secured(gssapi, signed_in, {"apps": {"app": [APPLICATION]}})
        async with Server(answer) as server:
            return (
                answer,
                await listing(server, {"authorization": {"type": "Negotiate"}}),
                await listing(server, {}),
            )

    answer, found, refused = asyncio.run(ask())
    assert [one.name for one in found.clusters] == ["orders-pipeline"]
    assert answer.seen == [f"weir@{signed_in.realm}"]
    assert "401" in refused.error and "ticket" in refused.error


def test_a_jobmanager_behind_the_proxy_gets_a_ticket_of_its_own_with_each_request(
    gssapi, signed_in
):
    async def ask():
        answer = Secured(gssapi, signed_in, {"taskmanagers": 2})
        async with Server(answer) as server:
            url = server.url.replace("127.0.0.1", "localhost")
            async with RestClient(f"{url}/proxy/application_1_2", auth=Auth("kerberos")) as client:
                return answer, [await client.get("/overview") for _ in range(3)], server.asked

    answer, answers, asked = asyncio.run(ask())
    assert answers == [{"taskmanagers": 2}] * 3
    assert asked == ["/proxy/application_1_2/overview"] * 3
    assert len(set(answer.tokens)) == 3


@pytest.mark.parametrize(
    ("host", "says"), [("127.0.0.1", "HTTP@127.0.0.1"), ("localhost", "KRB5_CLIENT_KTNAME")]
)
def test_without_a_ticket_nothing_is_asked_and_it_is_said_for_whom_there_is_none(
    signed_in, monkeypatch, host, says
):
    """A host that the KDC does not know, and a keytab that is not there."""
    if host == "localhost":
        monkeypatch.setenv("KRB5_CLIENT_KTNAME", "/none.keytab")
        monkeypatch.setenv("KRB5CCNAME", "FILE:/none")

    async def ask():
        async with (
            Server(lambda path, headers: told({})) as server,
            RestClient(server.url.replace("127.0.0.1", host), auth=Auth("kerberos")) as client,
        ):
            with pytest.raises(BadAnswer) as error:
                await client.get("/overview")
            return error.value, server.asked

    error, asked = asyncio.run(ask())
    assert error.reason == "unauthorized"
    assert says in str(error)
    assert asked == []
