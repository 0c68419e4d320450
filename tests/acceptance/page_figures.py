"""Figures of a page as a reader finds them: tables below headings, terms, and the large figures at
its top; by its markup alone.
"""

from html.parser import HTMLParser

_HEADINGS = ("h1", "h2", "h3", "h4")


class PageFigures(HTMLParser):
    """``tables``: first words of the heading above each → rows of cells, the head first. ``terms``:
    ``dt`` → the first ``dd`` of it; ``facts``: all pairs of them.

    ``kpis``: label → figure and what is below it. ``links``: targets of links, in their order.
    ``title``: the first heading.
    """

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tables: dict[str, list[list[str]]] = {}
        self.terms: dict[str, str] = {}
        self.facts: list[tuple[str, str]] = []
        self.kpis: dict[str, tuple[str, str]] = {}
        self.links: list[str] = []
        self.title = self._heading = self._term = self._tag = ""
        self._texts: list[str] | None = None
        self._kpi: list[str] | None = None
        self._depth = 0
        # Scripts, header and footer have no figures.
        self.feed(page.partition("<main")[2].partition("</main>")[0] or page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag == "a" and named.get("href"):
            self.links.append(named["href"] or "")
        if self._texts is not None:
            self._depth += tag == self._tag
        elif tag == "div" and "kpi" in (named.get("class") or "").split():
            self._kpi = []
        elif tag == "table":
            self.tables.setdefault(self._heading, [])
        elif tag == "tr":
            self.tables[self._heading].append([])
        elif tag in ("td", "th", "dt", "dd", *_HEADINGS) or (
            self._kpi is not None and tag in ("span", "b", "em")
        ):
            self._tag, self._texts, self._depth = tag, [], 0

    def handle_data(self, data: str) -> None:
        if self._texts is not None:
            self._texts.append(data)

    def handle_endtag(self, tag: str) -> None:
        if self._texts is None or tag != self._tag:
            return
        if self._depth:
            self._depth -= 1
            return
        text, first = (
            " ".join("".join(self._texts).split()),
            next((text.strip() for text in self._texts if text.strip()), ""),
        )
        self._texts = None
        if tag in _HEADINGS:
            self._heading, self.title = first, self.title or text
        elif tag in ("td", "th"):
            self.tables[self._heading][-1].append(text)
        elif tag == "dt":
            self._term = text
        elif tag == "dd":
            self.terms.setdefault(self._term, text)
            self.facts.append((self._term, text))
        elif self._kpi is not None:
            self._kpi.append(text)
            if len(self._kpi) == 3:
                label, figure, below = self._kpi
                self.kpis[label], self._kpi = (figure, below), None
