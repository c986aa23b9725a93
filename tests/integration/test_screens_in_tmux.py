"""Screens of the corpus on a real terminal: what a capture makes of them is judged the same."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from gascity.runtimes.screens import judge, read_screen
from gascity.runtimes.screens.examples import CORPUS, ESCAPE, Example, corpus
from tests.polling import wait_until

pytestmark = [
    pytest.mark.tmux,
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("tmux") is None, reason="needs tmux"),
]
EVERY: Final = 6  # the whole corpus takes a minute
SHOWN: Final = [one for one in corpus() if not one.screen.is_alternate][::EVERY]


@pytest.fixture(scope="module")
def show(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Prints a text in a pane of a server of our own, and captures it as the runtime does."""
    folder = tmp_path_factory.mktemp("t")
    file, end = folder / "screen", "That is all."
    tmux = ["tmux", "-u", "-f", os.devnull, "-S", str(folder / "s")]

    def run(*words: str) -> str:
        done = subprocess.run(
            [*tmux, *words], capture_output=True, text=True, timeout=20, check=True
        )
        return done.stdout

    def shown(text: str) -> str:
        file.write_text(text, encoding="utf-8")
        script = f"cat {shlex.quote(str(file))}; printf '\\033]2;{end}\\007'; exec sleep 600"
        run("respawn-pane", "-k", "-t", "=x:", script)
        title = ("display-message", "-p", "-t", "=x:", "#{pane_title}")
        wait_until(lambda: run(*title).strip() == end, what="the screen is drawn")
        run("select-pane", "-t", "=x:", "-T", "")
        return run("capture-pane", "-ep", "-t", "=x:")

    run("new-session", "-d", "-x", "200", "-y", "70", "-s", "x", "exec sleep 600")
    yield shown
    run("kill-server")


@pytest.mark.parametrize("example", SHOWN, ids=lambda one: one.name)
def test_a_screen_is_judged_the_same_from_its_capture(
    example: Example, show: Callable[[str], str]
) -> None:
    """Colours, wide signs and no-break spaces survive tmux as far as verdicts need them (R15)."""
    text = Path(CORPUS / f"{example.name}.txt").read_text(encoding="utf-8").partition("----\n")[2]
    captured = show(text.replace(ESCAPE, "\x1b").rstrip("\n"))
    screen = read_screen(captured, cursor=example.screen.cursor, title=example.screen.title)
    assert example.is_met(judge(screen, detector=example.detector, prefix=example.prefix))
