"""Which job instance needs files of which other, as a graph: the one that is needed stands before
those that need it.
"""

import bisect
import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext

from spark_jobs.storage_words import CHAIN_KINDS
from webapp.charts.job_graph import Edge, Geometry, Layout, Node, lay_out
from webapp.lib.quantities import bytes_text, count_text
from webapp.storage.models import ChainLink, JobStorage

WIDE = Geometry(196, 66, 56, 18)
NARROW = Geometry(196, 66, 34, 16, downwards=True)
MOST_LINKS = 600
_NAME_COLUMNS = 22
"""As many letters of a usual width as the bold name of a box has room for; Chinese, Japanese and
Korean ones take two columns.
"""
_MOST_BESIDE = 1


@dataclass(frozen=True)
class DrawnJob:
    """``needed`` where another job refers to its files: removing its directory breaks that one."""

    node: Node
    name: str
    line: str
    verdict: str
    words: str
    url: str
    needed: bool


@dataclass(frozen=True)
class DrawnLink:
    """``refers`` is a hard dependency; otherwise the job was restored from it and may need nothing
    any more.
    """

    edge: Edge
    refers: bool
    title: str


@dataclass(frozen=True)
class DrawnChains:
    layout: Layout
    jobs: tuple[DrawnJob, ...]
    links: tuple[DrawnLink, ...]
    geometry: Geometry
    left_out: int


def drawn(
    links: Sequence[ChainLink], jobs: Iterable[JobStorage], *, narrow: bool = False
) -> DrawnChains | None:
    """``None`` where no job depends on another, and where a narrow screen could not show it."""
    if not links:
        return None
    geometry = NARROW if narrow else WIDE
    known = {job.directory: job for job in jobs}
    pairs: dict[tuple[str, str], list[ChainLink]] = {}
    for link in links[:MOST_LINKS]:
        pairs.setdefault((link.other_directory, link.end), []).append(link)
    keys = list(dict.fromkeys(end for pair in pairs for end in pair))
    layout = lay_out(keys, pairs, geometry)
    if narrow and layout.widest > _MOST_BESIDE + 1:
        return None
    needed = {link.other_directory for link in links if link.kind == "refers"}
    boxes = tuple(_job(node, known.get(node.key), node.key in needed) for node in layout.nodes)
    edges = tuple(_link(edge, pairs[edge.source, edge.target]) for edge in layout.edges)
    return DrawnChains(
        layout, boxes, edges, geometry, layout.left_out + max(len(links) - MOST_LINKS, 0)
    )


def _job(node: Node, job: JobStorage | None, needed: bool) -> DrawnJob:
    name = (job.job_name if job else None) or node.key.rpartition("/")[2][:12]
    state = (
        "unknown"
        if job is None or job.terminal is None
        else "ended"
        if job.terminal
        else gettext("not ended")
    )
    size = bytes_text(job.bytes) if job else gettext("no files in this root")
    verdict = "needed" if needed else "free"
    words = f"{name} ({node.key}): {state}, {size}" + (
        gettext(", other jobs refer to its files")
        if needed
        else gettext(", no other job refers to its files")
    )
    url = (
        reverse("job", args=(job.cluster, job.job_id)) if job and job.cluster and job.job_id else ""
    )
    return DrawnJob(node, _fitted(name), f"{state} · {size}", verdict, words, url, needed)


def _fitted(name: str) -> str:
    """The box cuts off what still does not fit, as a name of capitals may not."""
    ends = list(
        itertools.accumulate(
            2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in name
        )
    )
    if not ends or ends[-1] <= _NAME_COLUMNS:
        return name
    return name[: bisect.bisect_right(ends, _NAME_COLUMNS - 1)] + "…"


def _link(edge: Edge, links: Sequence[ChainLink]) -> DrawnLink:
    refers = [link for link in links if link.kind == "refers"]
    words = [CHAIN_KINDS.get(link.kind, link.kind) for link in links if link.kind != "refers"]
    if refers:
        files, size = sum(link.files for link in refers), sum(link.bytes for link in refers)
        checkpoints = max(link.checkpoints for link in refers)
        words.insert(
            0,
            gettext("%(files)s files, %(size)s, referred to by %(checkpoints)s checkpoints")
            % {
                "files": count_text(files),
                "size": bytes_text(size),
                "checkpoints": count_text(checkpoints),
            },
        )
    return DrawnLink(edge, bool(refers), "; ".join(words))
