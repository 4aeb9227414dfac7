"""Keeps the old import path of ``leftoff.testing.hook_promises.EventPromises``."""

from leftoff.testing.hook_promises import EventPromises as EventPromises
