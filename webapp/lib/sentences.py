"""Every sentence that Weir can show somebody, out of its own sources: texts of templates, and
strings of code that read as words.

Strings of code are findings and their advice, messages, notices, the help of commands and settings,
and what the API and the tables say of their fields; strings of the pages' own scripts, the comments
of the example settings and the documentation that is written, not made, are among them, too. Names
of fields, paths, queries and docstrings are no sentences. What comes from users' jobs or from Flink
is not among them.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from webapp.config.environment import PROJECT_DIR

CODE = ("ingest", "spark_jobs", "webapp")
TEMPLATES = "templates"
SCRIPTS = "static/js"
SETTINGS = "compose.env.example"
DOCUMENTATION, MADE = "webapp/site/docs", "reference"
LEFT_OUT = ("migrations", "__pycache__")
NO_TERMS = (
    "told",
    "tell",
    "tells",
    "telling",
    "said",
    "sight",
    "sights",
    ("holds back"),
    "held back",
    "hold back",
    "passed over",
    "fares",
    "fared",
    "anew",
    "afresh",
    "of its own accord",
    "is at it",
    ("was at it"),
    "at it now",
    "hears",
    "heard",
    "lately",
    "blame",
    "blames",
    "blamed",
    "young",
    "gives up",
    "given up",
    "gave up",
    "give up",
    ("goes on"),
    "go on",
    "went on",
    "makes no sense",
    "taken up",
    "took up",
    "stands still",
    "stand still",
    "never rests",
    ("never rest"),
    "again and again",
    "meanwhile",
    "whoever",
)
"""Words that are no terms of Flink's or of operations: a sentence with one of them needs a second
reading.
"""

_MARKUP = re.compile(r"{#.*?#}|{%\s*comment.*?endcomment\s*%}|<(script|style|code)\b.*?</\1>", re.S)
_TAG = re.compile(r"<[^>]*>")
_SPOKEN = re.compile(r"""\b(?:title|placeholder|aria-label)="([^"]*)\"""")
_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SCRIPT_COMMENT = re.compile(r"(?m)//[^\n]*$|/\*.*?\*/", re.S)
_SCRIPT_STRING = re.compile(r"""\"([^"\n]*)\"|`([^`]*)`""")
_SCRIPT_VALUE = re.compile(r"\$\{[^}]*\}")
_LOGIC = re.compile(r"{%.*?%}", re.S)
_VALUE = re.compile(r"{{.*?}}", re.S)
_TRANSLATED = re.compile(r"""{[%{]\s*(?:translate\s+|text\s+|_\()(["'])(.*?)\1.*?[%}]}""", re.S)
_IN_TAGS = re.compile(r"""(?<!{{ )_\("([^"]*)"\)""")
_WORDS = re.compile(r"[A-Za-z]{2,}[ ,:;][^\n]*[A-Za-z]{2,}")
_NO_TERM = re.compile(rf"\b(?:{'|'.join(NO_TERMS)})\b", re.IGNORECASE)


@dataclass(frozen=True)
class Sentence:
    """``path`` is relative to the project; values that are put in are shown as ``…``."""

    path: str
    line: int
    text: str

    @property
    def no_terms(self) -> list[str]:
        return _NO_TERM.findall(self.text)


def sentences() -> Iterator[Sentence]:
    """By file and line."""
    base = PROJECT_DIR
    yield from (
        sentence
        for path in sorted((base / TEMPLATES).rglob("*.html"))
        for sentence in sentences_in_template(path.relative_to(base), path.read_text())
    )
    for package in CODE:
        for path in sorted((base / package).rglob("*.py")):
            if not set(path.parts) & set(LEFT_OUT) and path != Path(__file__):
                yield from sentences_in_code(path.relative_to(base), path.read_text())

    for path in sorted((base / SCRIPTS).glob("*.js")):
        yield from sentences_in_script(path.relative_to(base), path.read_text())
    yield from sentences_in_settings(Path(SETTINGS), (base / SETTINGS).read_text())
    for path in sorted(
        path for folder in (TEMPLATES, DOCUMENTATION) for path in (base / folder).rglob("*.md")
    ):
        if MADE not in path.parts:
            yield from sentences_in_page(path.relative_to(base), path.read_text())


def sentences_in_script(path: Path, text: str) -> Iterator[Sentence]:
    """Strings between double quotes or backticks; the pages' scripts use no others."""
    bare = _SCRIPT_COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text)
    for match in _SCRIPT_STRING.finditer(bare):
        words = " ".join(_SCRIPT_VALUE.sub("…", match[1] or match[2] or "").split())
        if _WORDS.search(words):
            yield Sentence(str(path), bare.count("\n", 0, match.start()) + 1, words)


def sentences_in_settings(path: Path, text: str) -> Iterator[Sentence]:
    """What the comments of an example of settings explain."""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("#") and _WORDS.search(line):
            yield Sentence(str(path), number, line.lstrip("# "))


def sentences_in_page(path: Path, text: str) -> Iterator[Sentence]:
    """Lines of a page in Markdown, without its blocks of commands."""
    bare = _BLOCK.sub(lambda match: "\n" * match.group().count("\n"), text)
    for number, line in enumerate(bare.splitlines(), 1):
        if _WORDS.search(line):
            yield Sentence(str(path), number, line)


def sentences_in_template(path: Path, text: str) -> Iterator[Sentence]:
    """Texts between tags, and those of attributes that are read out or shown."""
    bare = _MARKUP.sub(_blank, _TRANSLATED.sub(_spoken, text))
    pieces: list[tuple[int, str]] = []
    logic = _LOGIC.sub(
        lambda match: "\x00" * len(match.group()),
        _VALUE.sub(lambda match: "…" + "\x01" * (len(match.group()) - 1), bare),
    )
    pieces += [(match.start(1), match.group(1)) for match in _SPOKEN.finditer(logic)]
    pieces += [(match.start(1), match.group(1)) for match in _IN_TAGS.finditer(text)]
    plain = _TAG.sub(lambda match: "\x00" * len(match.group()), logic)
    pieces += [(match.start(), match.group()) for match in re.finditer(r"[^\x00\n]+", plain)]
    for start, part in sorted(pieces):
        words = " ".join(part.replace("\x00", " ").replace("\x01", "").split())
        if _WORDS.search(words):
            yield Sentence(str(path), text.count("\n", 0, start) + 1, words)


def _spoken(match: re.Match[str]) -> str:
    """A text that is marked for translation, with as many lines as its tag has."""
    return match[2] + "\n" * (match[0].count("\n") - match[2].count("\n"))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", "\x00", match.group())


def sentences_in_code(path: Path, text: str) -> Iterator[Sentence]:
    tree = ast.parse(text)
    passed = _docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            passed |= {id(part) for part in node.values}
            words = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values
            )
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in passed
        ):
            words = node.value
        else:
            continue
        shown = " ".join(words.split())
        if _WORDS.search(shown):
            yield Sentence(str(path), node.lineno, shown)


def _docstrings(tree: ast.AST) -> set[int]:
    """Strings that are statements: docstrings of modules, classes, functions and names."""
    return {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def matching(sentences: Iterable[Sentence], *, no_terms_only: bool) -> Iterator[Sentence]:
    return (sentence for sentence in sentences if sentence.no_terms or not no_terms_only)
