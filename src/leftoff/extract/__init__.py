"""Extraction: what happened in a session, by rules, each fact with its source.

``step`` folds records into a bounded state that can be written down and gone on from; ``render`` turns a state into the session
state that a resume log is made from. Pure: records in, values out. docs/extraction.md tells how worth is reckoned.
"""

from leftoff.extract.finished import is_finished
from leftoff.extract.fold import Reader, step
from leftoff.extract.render import render
from leftoff.extract.state import State

__all__ = ["Reader", "State", "is_finished", "render", "step"]
