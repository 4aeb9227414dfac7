"""Test kit for plugins and for leftoff itself: builders of sessions, a reference adapter, and test suites to subclass.

The suites test what adapters, hooks and stores promise, not how a plugin does it. They need pytest, which leftoff itself does
not: ``pip install pytest``.
"""
