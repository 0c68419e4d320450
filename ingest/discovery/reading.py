import asyncio
import glob
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from ingest.discovery.documents import MAX_BYTES, from_json, from_yaml
from ingest.discovery.kubernetes.reading import read_kubernetes
from ingest.discovery.naming import listing_of
from ingest.discovery.sources import DiscoverySource, Listing, RefusedTarget
from ingest.discovery.target_groups import MAX_TARGETS, Target, targets_of
from ingest.discovery.yarn import APPLICATIONS, applications
from ingest.errors import IngestError, Skipped
from ingest.flink_rest.client import RestClient
from ingest.flink_rest.faults import BadAnswer
from ingest.messages import message
from ingest.regular_files import open_regular

REQUEST_TIMEOUT_S = 5.0
READ_WITHIN_S = 12.0
KUBERNETES_WITHIN_S = 30.0
MAX_FILES = 1_000
_CHECK = message("Check what answers there, or its entry in the file of sources.")


def read_sources(sources: Sequence[DiscoverySource]) -> list[Listing]:
    """Listings in the order of ``sources``, with an error if a source cannot be read."""
    return asyncio.run(_read_all(sources))


async def _read_all(sources: Sequence[DiscoverySource]) -> list[Listing]:
    return list(await asyncio.gather(*(_read_source(source) for source in sources)))


async def _read_source(source: DiscoverySource) -> Listing:
    within_s = KUBERNETES_WITHIN_S if source.kubernetes else READ_WITHIN_S
    try:
        async with asyncio.timeout(within_s):
            if source.files:
                return await asyncio.to_thread(read_files, source)
            targets, notes = await _targets(source)
            listing = listing_of(source, targets)
            return replace(listing, refused=(*listing.refused, *notes))
    except TimeoutError:
        return Listing(
            error=message(
                "{place:name} was not read within {within_s:number} s.",
                place=source.place,
                within_s=within_s,
            )
        )
    except IngestError as error:
        why = str(error)
        if isinstance(error, BadAnswer) and error.reason == "too_large":
            why = message("it answers more than {max_bytes:number} MiB", max_bytes=MAX_BYTES >> 20)
        elif why.endswith("."):
            why = why.rstrip(".")  # another full stop follows
        return Listing(
            error=message(
                "{place:name} could not be read: {why:name}. {check:message}",
                place=source.place,
                why=why,
                check=_CHECK,
            )
        )


async def _targets(source: DiscoverySource) -> tuple[list[Target], list[RefusedTarget]]:
    if source.kubernetes:
        return await read_kubernetes(source.name, source.kubernetes)
    if source.zookeeper:
        return await asyncio.to_thread(_leaders, source)
    if source.yarn:
        return applications(await _get_json(source, source.yarn.rstrip("/") + APPLICATIONS)), []
    return targets_of(await _get_json(source, source.url)), []


def _leaders(source: DiscoverySource) -> tuple[list[Target], list[RefusedTarget]]:
    try:
        from ingest.discovery.zookeeper import leaders
    except ModuleNotFoundError as error:
        raise Skipped(
            message("Weir lacks the library kazoo here: pip install 'weir[zookeeper]'")
        ) from error
    return leaders(source.zookeeper, source.root)


async def _get_json(source: DiscoverySource, url: str) -> object:
    parts = urlsplit(url)
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    origin = f"{parts.scheme}://{parts.netloc}"
    async with RestClient(
        origin,
        auth=source.own_auth,
        tls=source.own_tls,
        request_timeout_s=REQUEST_TIMEOUT_S,
        max_response_bytes=MAX_BYTES,
    ) as client:
        return await client.get(path)


def read_files(source: DiscoverySource) -> Listing:
    targets: list[Target] = []
    errors: list[str] = []
    for pattern in source.files:
        # Path.glob does not accept absolute patterns.
        paths = sorted(islice(glob.iglob(pattern), MAX_FILES + 1))  # noqa: PTH207
        if not paths:
            errors.append(
                message(
                    "there is no file at {pattern:name}; to remove its clusters, put a file "
                    "with [] there",
                    pattern=pattern,
                )
            )
        if len(paths) > MAX_FILES:
            errors.append(
                message(
                    "more than {max_files:count} files match {pattern:name}",
                    max_files=MAX_FILES,
                    pattern=pattern,
                )
            )
            continue
        for path in paths:
            try:
                targets += targets_of(_document(Path(path)))
            except Skipped as error:
                errors.append(f"{path}: {error}")
            except OSError as error:
                errors.append(
                    message(
                        "{path:name} cannot be opened ({strerror:name})",
                        path=path,
                        strerror=str(error.strerror),
                    )
                )
    if len(targets) > MAX_TARGETS:
        return Listing(
            error=message(
                "{place:name} lists more than {max_targets:count} targets and was ignored; "
                "split it into several sources.",
                place=source.place,
                max_targets=MAX_TARGETS,
            )
        )
    return listing_of(source, targets, message("{why:text}.", why=errors[0]) if errors else "")


def _document(path: Path) -> object:
    with open_regular(path) as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise Skipped(
            message("it is larger than {max_bytes:number} MiB", max_bytes=MAX_BYTES >> 20)
        )
    return from_json(content) if path.suffix == ".json" else from_yaml(content)
