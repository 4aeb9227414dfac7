"""Extraction: find out by rules what happened in a session, each fact with its source.

``step`` folds records into a bounded state that can be saved and continued; ``render`` turns a state into the session state that a
resume log is written from. Pure: records in, values out. docs/extraction.md explains the scores.
"""

from leftoff.extraction.fold import Reader, step
from leftoff.extraction.sections import is_finished, render
from leftoff.extraction.state import State

__all__ = ["Reader", "State", "is_finished", "render", "step"]
