"""Checks what people read: unusual words in texts and pages, dead links, the length of the docs and of the README.

User-facing texts are the strings in ``src`` with a space in them, and the help texts of commands; other docstrings are for
developers. Words count without generated parts and code.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MOST_WORDS, MOST_README_LINES = 11_000, 130
# Words and phrases that read like a translation, each with a plain one to use instead.
UNUSUAL = {
    r"\b(?:it|they|there|what|which|that|logs?|files?|words?|texts?|nothing) (?:\w+ )?(?:stands?|stood)\b": "is",
    r"\bstands? (?:in|there|at|here|on|behind|where|everywhere|before|below|twice)\b": "is",
    r"\banew\b": "again",
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\b(?:go|goes|going|gone) on\b": "continue",
    r"\b(?:is|are) told\b|\btold (?:to|of|anew)\b": "sees, is warned",
    r"\bwhoever\b": "the person who",
    r"\b(?:nobody|everybody)\b": "no one, or name who",
    r"\bso (?:many|much) (?:characters|tokens|remaining)\b": "this many",
    r"\b(?:is|are) no (?!longer|such|more|way|need|reason|terminal|sessions? (?:yet|to)|projects?|command|task|section|remote|saved|log|resume)\w+": "is not a",
    r"\breckon\w*\b": "estimate",
    r"\bgiven way\b": "replaced",
    r"\byour word\b": "trust, consent",
    r"\ball the same\b": "anyway",
    r"\bpassed over\b": "skipped, ignored",
    r"\btak(?:e|es|en|ing) up\b": "pick up",
    r"\bhand(?:s|ed)? over\b": "give",
}
# Texts of another kind: words that users type, prompts of invented sessions, and pages and texts that quote transcripts.
EXEMPT_FILES = (
    "src/leftoff/live/fast.py",
    "src/leftoff/testing/",
    "src/leftoff/extraction/",
    "src/leftoff/resume_logs/",
)
EXEMPT_PAGES = ()
_FENCED = re.compile(r"^```.*?^```\n?", re.MULTILINE | re.DOTALL)
_GENERATED = re.compile(r"<!-- (generated|measured|figures): .*?<!-- /\1 -->", re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def main() -> int:
    """Print what is wrong; return 1 when anything is."""
    wrong = [*unusual_texts(), *unusual_pages(), *dead_links(), *too_long()]
    for line in wrong:
        print(line)
    print(f"docs: {len(wrong)} problems" if wrong else "docs: in order")
    return 1 if wrong else 0


def pages() -> list[Path]:
    """Return the pages that people read, without records of decisions and examples of logs."""
    return [ROOT / "README.md", ROOT / "SECURITY.md", *sorted(DOCS.glob("*.md"))]


def unusual_texts() -> Iterator[str]:
    """Find unusual words in what the program says."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        shown = path.relative_to(ROOT).as_posix()
        if shown.startswith(EXEMPT_FILES):
            continue
        for line, text in user_texts(ast.parse(path.read_text(encoding="utf-8"))):
            yield from (f"{shown}:{line}: {word}" for word in unusual_words(text))


def user_texts(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield strings with a space in them, with their lines; of docstrings only those of commands."""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    internal = set()
    for node in ast.walk(tree):
        if isinstance(node, documented) and node.body and isinstance(first := node.body[0], ast.Expr):
            decorators = getattr(node, "decorator_list", [])
            if not any(re.search(r"command|group", ast.unparse(each)) for each in decorators):
                internal.add(id(first.value))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in internal
            and " " in node.value
        ):
            yield node.lineno, node.value


def unusual_pages() -> Iterator[str]:
    """Find unusual words in the pages."""
    for page in [*pages(), *sorted((ROOT / "integrations").rglob("*.md"))]:
        if page.name not in EXEMPT_PAGES:
            for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
                yield from (f"{page.relative_to(ROOT)}:{number}: {word}" for word in unusual_words(line))


def unusual_words(text: str) -> Iterator[str]:
    """Yield each unusual word with what to write instead."""
    for pattern, instead in UNUSUAL.items():
        for found in re.finditer(pattern, text, re.IGNORECASE):
            yield f"{found[0]!r} reads strangely; better: {instead}"


def dead_links() -> Iterator[str]:
    """Find links to files or headings that do not exist, and links to other hosts that the docs do not need."""
    for page in [*pages(), ROOT / "CONTRIBUTING.md", ROOT / "ARCHITECTURE.md"]:
        text = _FENCED.sub("", page.read_text(encoding="utf-8"))
        for link in _LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
            if re.match(r"[a-z]+:", link):
                continue
            name, _, anchor = link.partition("#")
            target = (page.parent / name).resolve() if name else page
            if not target.exists():
                yield f"{page.relative_to(ROOT)}: dead link: {link}"
            elif anchor and anchor not in anchors(target):
                yield f"{page.relative_to(ROOT)}: no such heading: {link}"


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.*)$", _FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def too_long() -> Iterator[str]:
    """Find docs that nobody would read to the end."""
    counted = [page for page in pages() if page.name != "SECURITY.md"]
    words = sum(count_words(page.read_text(encoding="utf-8")) for page in counted)
    if words > MOST_WORDS:
        yield f"docs: {words:,} words written by hand; {MOST_WORDS:,} at most."
    lines = len((ROOT / "README.md").read_text(encoding="utf-8").splitlines())
    if lines > MOST_README_LINES:
        yield f"README.md: {lines} lines; {MOST_README_LINES} at most."


def count_words(text: str) -> int:
    """Return the words of a page without generated parts and code."""
    return len(_FENCED.sub("", _GENERATED.sub("", text)).split())


if __name__ == "__main__":
    sys.exit(main())
