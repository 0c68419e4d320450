"""Template tags for panels, tables, column heads, badges and pagers.
``{% panel "Why" note="by reason" %}…{% endpanel %}`` is a section with a heading; content before
``{% body %}`` is beside the heading. ``{% table %}{% th "Files" "n" %}{% rows %}<tr>…</tr>{% endtable
%}`` is a table. By default, its caption is the title of the panel around it. Titles and notes that
the template has are translated.
"""

from typing import Any

from django.template import Context, Library, Node, NodeList
from django.template.base import FilterExpression, Parser, Token, token_kwargs
from django.templatetags.static import static
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext

from webapp.lib import quantities
from webapp.lib.badges import SHAPES
from webapp.lib.filters import query

register = Library()


class _Part(Node):
    """A title, options, and nodes before (``head``) and after the tag ``between``."""

    child_nodelists = ("head", "nodelist")

    def __init__(self, parser: Parser, token: Token, between: str) -> None:
        name, *bits = token.split_contents()
        has_title = bool(bits) and (bits[0][:2] == "_(" or "=" not in bits[0])
        self.title = parser.compile_filter(bits.pop(0)) if has_title else None
        self.options = token_kwargs(bits, parser)
        self.head, self.nodelist = NodeList(), parser.parse((between, f"end{name}"))
        if parser.next_token().contents == between:
            self.head, self.nodelist = self.nodelist, parser.parse((f"end{name}",))
            parser.delete_first_token()

    def resolved(self, context: Context) -> tuple[Any, dict[str, Any]]:
        title = _translated(self.title, context) if self.title else context.get("panel_title")
        return title, {
            name: _translated(value, context) if name == "note" else value.resolve(context)
            for name, value in self.options.items()
        }


def _translated(expression: FilterExpression, context: Context) -> Any:
    value = expression.resolve(context)
    return value if expression.is_var else gettext(value)


class _Panel(_Part):
    def render(self, context: Context) -> SafeString:
        title, options = self.resolved(context)
        with context.push(panel_title=title):
            beside, content = self.head.render(context), self.nodelist.render(context)
        css, note = options.pop("css", "flush grid"), options.pop("note", "")
        heading = format_html(
            "<h2>{}{}</h2>", title, format_html(" <small>{}</small>", note) if note else ""
        )
        if beside or "flush" in css:
            heading = format_html('<div class="panel-head">{}{}</div>', heading, beside)
        return format_html(
            '<section class="panel {}"{} aria-label="{}">{}{}</section>',
            css,
            _attributes(options),
            title,
            heading,
            content,
        )


class _Table(_Part):
    def render(self, context: Context) -> SafeString:
        caption, options = self.resolved(context)
        scrolls = options.pop("scroll", True)
        table = format_html(
            '<table{}><caption class="visually-hidden">{}</caption>{}<tbody>{}</tbody></table>',
            _attributes(options),
            caption,
            format_html("<thead><tr>{}</tr></thead>", self.head.render(context))
            if self.head
            else "",
            self.nodelist.render(context),
        )
        return format_html('<div class="scroll">{}</div>', table) if scrolls else table


class _Blank(_Part):
    def render(self, context: Context) -> SafeString:
        title, _ = self.resolved(context)
        content = self.nodelist.render(context)
        return format_html('<div class="empty small"><b>{}</b>{}</div>', title, content)


def _attributes(values: dict[str, Any]) -> SafeString:
    return format_html_join(
        "", ' {}="{}"', ((name.replace("_", "-"), value) for name, value in values.items())
    )


@register.tag
def panel(parser: Parser, token: Token) -> Node:
    """Options: ``note``, ``css`` (classes) and attributes of the section."""
    return _Panel(parser, token, "body")


@register.tag
def table(parser: Parser, token: Token) -> Node:
    """Options: ``scroll=False``, and attributes of the table."""
    return _Table(parser, token, "rows")


@register.simple_tag
def styles(*names: str) -> SafeString:
    """Links to ``static/css``."""
    links = ((static(f"css/{name}.css"),) for name in names)
    return format_html_join("", '<link rel="stylesheet" href="{}">', links)


@register.simple_tag
def th(name: str | int, css: str = "", title: str = "", hidden: bool = False) -> SafeString:
    values = {"class": css, "title": title and gettext(title)}
    attributes = _attributes({name: value for name, value in values.items() if value})
    content = name and gettext(str(name))
    if hidden:
        content = format_html('<span class="visually-hidden">{}</span>', content)
    return format_html('<th scope="col"{}>{}</th>', attributes, content)


@register.tag
def blank(parser: Parser, token: Token) -> Node:
    return _Blank(parser, token, "")


class _Capture(Node):
    def __init__(self, name: str, nodelist: NodeList) -> None:
        self.name, self.nodelist = name, nodelist

    def render(self, context: Context) -> str:
        context[self.name] = self.nodelist.render(context)
        return ""


@register.tag
def capture(parser: Parser, token: Token) -> Node:
    """``{% capture reason %}…{% endcapture %}`` renders once what ``{{ reason }}`` shows twice."""
    _, name = token.split_contents()
    nodelist = parser.parse(("endcapture",))
    parser.delete_first_token()
    return _Capture(name, nodelist)


@register.simple_tag
def text(message: str, **values: Any) -> SafeString:
    """``{% text "%(files)s files" files=root.files|count %}``, translated."""
    escaped = {name: conditional_escape(value) for name, value in values.items()}
    # The message is a text of Weir, and its values are escaped.
    return mark_safe(gettext(message) % escaped)  # noqa: S308


@register.filter
def alarm(number: int, tone: str) -> SafeString | str:
    """A count that should be 0; otherwise it gets the tone and its shape."""
    if not number:
        return "0"
    return format_html(
        '<b class="tone {}">{} {}</b>', tone, SHAPES[tone], quantities.count_text(number)
    )


@register.filter
def chip(badge: Any, css: str = "chip") -> SafeString:
    return format_html('<span class="{} {}">{} {}</span>', css, badge.tone, badge.shape, badge.word)


@register.simple_tag(takes_context=True)
def pager_links(
    context: Context, page: Any, newer: str = "", older: str = "", name: str = "cursor"
) -> SafeString:
    """``name``: parameter of the cursor; if a page has several lists, also the id of this one."""
    anchor = "" if name == "cursor" else f"#{name}"
    links = (
        (page.previous_cursor, f"← {newer or gettext('previous')}"),
        (page.next_cursor, f"{older or gettext('next')} →"),
    )
    return format_html(
        "<span>{}</span>",
        format_html_join(
            "",
            '<a href="{}{}">{}</a>',
            ((query(context, **{name: cursor}), anchor, text) for cursor, text in links if cursor),
        ),
    )


@register.simple_tag(takes_context=True)
def pager(
    context: Context, page: Any, newer: str = "", older: str = "", name: str = "cursor"
) -> SafeString:
    """The number of rows, if known, and :func:`pager_links`."""
    matching = context.get("matching") if name == "cursor" else None
    return format_html(
        '<div class="pager"><span>{}</span>{}</div>',
        ""
        if matching is None
        else gettext("%(matching)s match")
        % {"matching": quantities.capped_count_text(matching, 1000)},
        pager_links(context, page, newer, older, name),
    )
