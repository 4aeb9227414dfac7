"""The kit for tests, ours and yours: builders, and the suites of promises that agents and stores must keep.

Needs pytest, which leftoff itself does not: ``pip install pytest``.
"""
