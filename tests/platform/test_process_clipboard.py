"""The desktop's clipboard, where there is one."""

import pytest

from leftoff.platform import process


def program(folder, name, script):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def desktop(tmp_path, monkeypatch):
    """A desktop whose clipboard is a file, and nothing else on the path but the shell's own."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-0")
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WSL_DISTRO_NAME", raising=False)
    return tmp_path


def test_the_text_is_what_the_program_gets(desktop):
    """Word for word, without a line end that would run a command when it is pasted."""
    program(desktop / "bin", "wl-copy", f"cat > {desktop / 'board'}")
    assert process.copy_to_clipboard("0199-ab")
    assert (desktop / "board").read_bytes() == b"0199-ab"


def test_a_program_that_stays_in_the_background_is_not_waited_for(desktop):
    """The program serves the clipboard until something else is copied."""
    program(desktop / "bin", "wl-copy", f"cat > {desktop / 'board'}\nsleep 5 &")
    assert process.copy_to_clipboard("x")


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 30"])
def test_a_program_that_fails_or_hangs_has_copied_nothing(desktop, script):
    """The hook says only what is true."""
    program(desktop / "bin", "wl-copy", script)
    assert not process.copy_to_clipboard("x")


def test_without_a_desktop_nothing_is_started(desktop, monkeypatch):
    """Over ssh the program may be installed although there is no desktop."""
    monkeypatch.delenv("WAYLAND_DISPLAY")
    program(desktop / "bin", "wl-copy", f"touch {desktop / 'called'}")
    assert not process.copy_to_clipboard("x")
    assert not (desktop / "called").exists()


def test_a_clipboard_program_that_fails_is_ignored(desktop):
    """The file of that name can be anything."""
    program(desktop / "bin", "wl-copy", "").write_bytes(b"\x7fELF nothing")
    assert not process.copy_to_clipboard("x")
