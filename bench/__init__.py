"""Measurements for developers, outside the wheel: speed, quiz, precision, retention, strategies; run with ``python -m bench``."""
