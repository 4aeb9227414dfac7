"""Signals that are put off, or made into an exception."""

import signal
import threading

import pytest

from leftoff.platform import process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_what_comes_while_it_is_held_counts_afterwards(number):
    """A signal that arrives several times counts once, and the old handlers are restored."""
    before = signal.getsignal(number)
    came = []
    signal.signal(number, lambda *_: came.append("outside"))
    try:
        with process.defer_signals():
            signal.raise_signal(number)
            signal.raise_signal(number)
            came.append("inside")
        assert came == ["inside", "outside"]
        signal.raise_signal(number)
        assert came == ["inside", "outside", "outside"]
    finally:
        signal.signal(number, before)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda each: each.name)
def test_sigterm_becomes_an_exit(number):
    """The exit code is the one that shells use for the signal."""
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as left, process.signals_as_exit():
        signal.raise_signal(number)
    assert left.value.code == 128 + number
    assert signal.getsignal(number) is before


def test_what_is_ignored_stays_so():
    """``nohup`` relies on ignored signals staying ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with process.signals_as_exit(), process.defer_signals():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_hear_no_signals_and_change_nothing():
    """Only the main thread may set signal handlers."""
    done = []

    def work():
        with process.defer_signals(), process.signals_as_exit():
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(30)
    assert done == [True]
