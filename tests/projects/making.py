"""Projects for tests: a tree with documents, and a moment to tell things at."""

from datetime import UTC, datetime
from pathlib import Path

from leftoff.projects import facts, layout, update
from leftoff.projects.layout import Home, Tree
from leftoff.projects.update import News

AT = datetime(2026, 1, 3, 15, 30, tzinfo=UTC)
STEPS = """\
# Steps

## Section 1: Setup
- [x] one
- [x] two

## Section 2: Implementation
- [x] three
- [ ] four
- [ ] five
"""
OVERVIEW = "# Skills\n\n## Purpose\n\nScore skills. Then sort them. Never mind the rest of it.\n"


def tree_at(root: Path) -> Tree:
    return Tree(root=root, projects=root / "02-projects", plain=root / ".leftoff" / "project")


def project(root: Path, name: str = "24-skills", **texts: str) -> Home:
    """A project of the numbered tree with these documents."""
    home = layout.numbered(tree_at(root), name)
    for folder in (home.planning, home.resources, home.working):
        folder.mkdir(parents=True, exist_ok=True)
    for part, text in texts.items():
        home.part(part).write_text(text, encoding="utf-8")
    return home


def news(home: Home, **told) -> News:
    return News(**{"facts": facts.gather(home), "at": AT, "words_for_it": "24", **told})


def first(home: Home, name: str = "Skills & more"):
    """Its first resume state, as a document."""
    return update.created(home.id, name, news(home))
