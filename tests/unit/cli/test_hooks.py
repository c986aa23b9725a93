"""`gc hooks`: what it would write, what it writes, and that it takes exactly that away again."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gascity.cli.hook_files import FILES, MARK
from gascity.cli.hooks import BACKUP, default_file

Gc = Callable[..., Any]
USERS = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "Notification": [{"matcher": "x", "hooks": [{"type": "command", "command": "beep"}]}],
    },
}
JSON_CLIS = sorted(name for name, about in FILES.items() if about.shape != "text")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home without any agent CLI's files."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for about in FILES.values():
        if about.variable:
            monkeypatch.delenv(about.variable, raising=False)
    return tmp_path


def commands(text: str) -> list[str]:
    """Every command of ours in a file."""
    return [line for line in text.splitlines() if MARK in line]


@pytest.mark.parametrize("cli", sorted(FILES))
def test_install_and_remove_leave_nothing_behind(cli: str, home: Path, gc: Gc) -> None:
    """First a diff and nothing written, then the file, then nothing of ours (R15)."""
    path = default_file(cli)
    shown = gc("hooks", "install", cli)
    assert (shown.code, path.exists()) == (0, False)
    assert "+++" in shown.out
    assert "nothing is written" in shown.err
    assert gc("hooks", "install", cli, "--yes").code == 0
    text = path.read_text(encoding="utf-8")
    assert len(commands(text)) == len(FILES[cli].events) or FILES[cli].shape == "text"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "nothing to install" in gc("hooks", "install", cli).out
    assert gc("hooks", "remove", cli, "--yes").code == 0
    assert not path.exists() or not commands(path.read_text(encoding="utf-8"))
    assert "nothing to remove" in gc("hooks", "remove", cli).out


@pytest.mark.parametrize("cli", JSON_CLIS)
def test_what_is_printed_is_what_an_empty_file_would_hold(cli: str, home: Path, gc: Gc) -> None:
    """`print` is for those who add it by hand (R15)."""
    printed = gc("hooks", "print", cli).out
    gc("hooks", "install", cli, "--yes")
    assert default_file(cli).read_text(encoding="utf-8") == printed
    assert json.loads(printed)["hooks"].keys() == set(FILES[cli].events)


def test_hooks_of_others_stay(home: Path, gc: Gc) -> None:
    """Ours stand behind theirs, and `remove` gives back the very document (R15)."""
    path = default_file("claude")
    path.parent.mkdir()
    path.write_text(json.dumps(USERS), encoding="utf-8")
    path.chmod(0o640)
    gc("hooks", "install", "claude", "--yes")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["model"] == "opus"
    assert document["hooks"]["Stop"][0] == USERS["hooks"]["Stop"][0]  # type: ignore[index]
    assert len(document["hooks"]["Stop"]) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert json.loads(path.with_name(path.name + BACKUP).read_text(encoding="utf-8")) == USERS
    gc("hooks", "remove", "claude", "--yes")
    assert json.loads(path.read_text(encoding="utf-8")) == USERS


@pytest.mark.parametrize(
    "text", ['{"a": 1,}', "// mine\n{}", '{"hooks": []}', '{"hooks": {"Stop": {}}}', "[]"]
)
def test_a_file_that_is_not_understood_is_not_touched(text: str, home: Path, gc: Gc) -> None:
    """It is named, with what to do instead (R15)."""
    path = default_file("claude")
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    ran = gc("hooks", "install", "claude", "--yes")
    assert ran.code == 3
    assert str(path) in ran.err
    assert path.read_text(encoding="utf-8") == text


def test_a_plugin_of_somebody_else_is_not_touched(home: Path, gc: Gc) -> None:
    """OpenCode's plugin is a file of ours, unless it is not (R15)."""
    path = default_file("opencode")
    path.parent.mkdir(parents=True)
    path.write_text("export const Mine = 1\n", encoding="utf-8")
    assert gc("hooks", "install", "opencode", "--yes").code == 3
    assert gc("hooks", "remove", "opencode", "--yes").code == 3


def test_a_link_stays_a_link(home: Path, gc: Gc) -> None:
    """Settings that are kept elsewhere are changed there (R15)."""
    real = home / "dotfiles.json"
    real.write_text("{}", encoding="utf-8")
    path = default_file("claude")
    path.parent.mkdir()
    path.symlink_to(real)
    gc("hooks", "install", "claude", "--yes")
    assert path.is_symlink()
    assert commands(real.read_text(encoding="utf-8"))


def test_another_file_may_be_named(home: Path, tmp_path: Path, gc: Gc) -> None:
    """As one that is given with `--settings`: nothing of the user's is edited (R15)."""
    path = tmp_path / "deep" / "claude.json"
    assert gc("hooks", "install", "claude", "--file", str(path), "--yes").code == 0
    assert commands(path.read_text(encoding="utf-8"))
    assert not default_file("claude").exists()


def test_the_command_never_changes() -> None:
    """Codex asks a person again about a command that is not the one it was shown (R15)."""
    from gascity.cli.hook_files import with_hooks

    [group] = with_hooks("codex", {})["hooks"]["Stop"]
    assert group["hooks"][0]["command"] == (
        '[ -z "$GC_INSTANCE_TOKEN" ] || ${GC_BIN:-gc} agent-event Stop 2>/dev/null || :'
    )
