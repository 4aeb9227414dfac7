"""Projects for tests: a tree with documents, updates of their states, and a resume state as a person wrote it."""

from datetime import UTC, datetime
from pathlib import Path

from leftoff.config.settings import ProjectStateSettings
from leftoff.projects import layout, progress, update
from leftoff.projects.document import Document
from leftoff.projects.layout import Home, Tree
from leftoff.projects.render import Gauge
from leftoff.projects.update import ProjectUpdate

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

_SETTINGS = ProjectStateSettings()
NO_TOKENS = Gauge(warn_fraction=_SETTINGS.warn, save_fraction=_SETTINGS.auto_save)
SEED = """---
# Resume State Metadata
resume_version: 1.0
last_updated: 2026-01-03T15:30:00
compaction_count: 0  # How many times conversation was compacted
session_count: 2

project_id: 24-project-skills
project_name: Project Skills Research & Resume Expansion
project_status: IN_PROGRESS  # RESEARCH | PLANNING | IN_PROGRESS | COMPLETE

current_phase: execution
current_section: 2
next_task_number: 15

planning_completed:
  - research: true
  - steps: false
---

# Resume State: Skills

## Critical Context to Remember

**Key Decisions Made**:
1. SQLite, because nothing has to be started

**Blockers/Risks Identified**:
- [ ] CI is slow
- [x] No key - we got one
"""


def document(text: str = SEED) -> Document:
    return Document.of_bytes(text.encode("utf-8", "surrogateescape"), "a/_resume.md")


def tree_at(root: Path) -> Tree:
    return Tree(
        root=root, projects=root / _SETTINGS.root, plain=root / ".leftoff" / "project", **_SETTINGS.layout
    )


def project(root: Path, name: str = "24-skills", **texts: str) -> Home:
    """A project of the numbered tree with these documents."""
    home = layout.numbered_home(tree_at(root), name)
    for folder in (home.planning, home.resources, home.working):
        folder.mkdir(parents=True, exist_ok=True)
    for part, text in texts.items():
        home.part(part).write_text(text, encoding="utf-8")
    return home


def news(home: Home, **more) -> ProjectUpdate:
    facts = progress.gather_facts(home)
    return ProjectUpdate(**{"facts": facts, "at": AT, "short_id": "24", "gauge": NO_TOKENS, **more})


def first(home: Home, name: str = "Skills & more"):
    """Return the first resume state of a project, as a document."""
    return update.create_document(home.id, name, news(home))


def update_twice(before: Document, new: ProjectUpdate) -> Document:
    """Return the updated document; the same update again must not change a byte."""
    updated = update.update_document(before, new)
    assert update.update_document(updated, new).text == updated.text
    return updated
