"""Finds the bucket of an object store in a text: in a URI, in the address of a request, or in an
error message of the store.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CANONICAL = {
    "s3a": "s3",
    "s3n": "s3",
    "s3p": "s3",
    "abfss": "abfs",
    "wasbs": "wasb",
    "cosn": "cos",
    "dfs": "abfs",
    "blob": "wasb",
}
"""Schemes of other clients, Azure's services → one scheme for each store."""
_SCHEMES = r"s3[anp]?|oss|cosn|gs|obs|abfss?|wasbs?"
_AZURE = frozenset({"abfs", "abfss", "wasb", "wasbs"})
"""Their authority is ``container@account``. In other schemes, user and secret precede ``@``."""
_KEY = r"[^\s'\"<>(),;{}\[\]]{0,600}"
_BUCKET = r"[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]"
_PLACE = re.compile(
    rf"\b(?P<scheme>{_SCHEMES})://(?:(?P<userinfo>[^\s/@'\"<>(),;]{{1,250}})@)?"
    rf"(?P<bucket>[A-Za-z0-9][A-Za-z0-9._-]{{1,250}}+)(?!:[^\s@]{{1,200}}@)(?P<key>/{_KEY})?"
    # https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
    rf"|https?://s3[.-][a-z0-9.-]{{0,60}}amazonaws\.com(?:\.cn)?(?::\d+)?"
    rf"/(?P<s3>{_BUCKET})(?P<s3_key>/{_KEY})?"
    rf"|(?<![\w.-])(?P<s3_host>{_BUCKET})\.s3[.-][a-z0-9.-]{{0,60}}amazonaws\.com"
    rf"|arn:aws[a-z-]{{0,10}}:s3:::(?P<s3_arn>{_BUCKET})(?P<arn_key>/{_KEY})?"
    # What OSS names [HostId].
    rf"|(?<![\w.-])(?P<oss>{_BUCKET})\.oss-[a-z0-9-]{{1,60}}\.aliyuncs\.com"
    rf"|(?<![\w.-])(?P<cos>{_BUCKET})\.cos\.[a-z0-9-]{{1,60}}\.myqcloud\.com"
    rf"|(?<![\w.-])(?P<obs>{_BUCKET})\.obs\.[a-z0-9-]{{1,60}}\.myhuaweicloud\.com"
    # org.apache.hadoop.fs.azurebfs.contracts.exceptions.AbfsRestOperationException
    rf"|https://(?P<account>[a-z0-9]{{3,24}})\.(?P<service>dfs|blob)\.core\.windows\.net"
    rf"/(?P<container>[a-z0-9$][a-z0-9-]{{0,62}})(?P<azure_key>/{_KEY})?"
    rf"|https://storage\.googleapis\.com/(?:(?:upload/|download/)?storage/v1/b/)?"
    rf"(?P<gs>{_BUCKET})(?:/o)?(?P<gs_key>/{_KEY})?"
    # https://cloud.google.com/storage/docs/gcs429
    rf"|[Tt]he object (?P<gs_object>{_BUCKET})(?P<object_key>/{_KEY}) exceeded the rate limit"
)
_JOB_DIRECTORY = re.compile(
    r"(?:^|/)(?:[0-9a-f]{32}|chk-\d+|shared|taskowned|savepoint-[0-9a-f-]+)(?:/|$)"
)
_PREFIX_PARTS, _PREFIX_CHARS = 2, 200
_READ_CHARS = 16_384


@dataclass(frozen=True, slots=True)
class StorePlace:
    """``scheme`` does not depend on the client: ``s3`` also for s3a."""

    scheme: str
    bucket: str
    key: str = ""

    @property
    def uri(self) -> str:
        return f"{self.scheme}://{self.bucket}"

    @property
    def prefix(self) -> str:
        """The key of the directory above jobs' directories; for other keys, the first two parts."""
        root = _JOB_DIRECTORY.split(self.key, maxsplit=1)[0]
        if root == self.key:
            root = "/".join(self.key.split("/")[:-1][:_PREFIX_PARTS])
        return root.strip("/")[:_PREFIX_CHARS]

    @property
    def path(self) -> str:
        return f"{self.uri}/{self.prefix}".rstrip("/")


def place_in(text: str, near: int = 0) -> StorePlace | None:
    """The first place in the line at the index ``near``; if the line has none, the last before the
    line, else the first after it.
    """
    text = text[:_READ_CHARS]
    begin = text.rfind("\n", 0, near) + 1
    end = text.find("\n", near)
    before: StorePlace | None = None
    for at, place in _places(text):
        if at < begin:
            before = place
        elif before is None or end < 0 or at < end:
            return place
        else:
            break
    return before


def _places(text: str) -> Iterator[tuple[int, StorePlace]]:
    for match in _PLACE.finditer(text):
        groups = {name: value for name, value in match.groupdict().items() if value}
        key = next((value for name, value in groups.items() if name.endswith("key")), "")
        key = key.split("?", 1)[0].strip("/").rstrip(".:")
        scheme, bucket = groups.get("scheme", ""), groups.get("bucket", "")
        if "userinfo" in groups and scheme in _AZURE:
            bucket = f"{groups['userinfo']}@{bucket}"
        if "account" in groups:
            scheme = groups["service"]
            bucket = f"{groups['container']}@{groups['account']}.{scheme}.core.windows.net"
        elif not scheme:
            name, bucket = next(
                (name, value) for name, value in groups.items() if not name.endswith("key")
            )
            scheme = name.split("_", 1)[0]
        yield match.start(), StorePlace(_CANONICAL.get(scheme, scheme), bucket.rstrip("."), key)
