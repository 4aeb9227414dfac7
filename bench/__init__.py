"""Measurements for developers, outside the wheel: speed, retention, strategies; run with ``python -m bench``."""
