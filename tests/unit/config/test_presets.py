"""Agent CLIs: what they are called, how they start, and how a conversation comes back."""

from __future__ import annotations

import pytest

from gascity.config.presets import PRESETS, preset_of
from tests.unit.config.loading import Compose, Load


def test_claude_gets_its_conversation_back() -> None:
    """Our key at the first start, the same key later, and a file that says which it is (R62)."""
    claude = PRESETS["claude"]
    assert claude.ready_prompt_prefix == "❯ "
    assert set(claude.process_names) == {"claude", "node"}
    assert (claude.resume.session_id_flag, claude.resume.flag) == ("--session-id", "--resume")
    assert claude.resume.transcript.endswith("/projects/{cwd_slug}/{key}.jsonl")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_resumes_or_says_why_not(name: str) -> None:
    """Whoever cannot resume names the reason, and whoever can is decided by a file (R62)."""
    preset = PRESETS[name]
    assert preset.resume.can_resume is (preset.why_no_resume == "")
    assert bool(preset.resume.transcript) is preset.resume.can_resume
    assert preset.name == name
    assert preset.command
    assert preset.process_names


@pytest.mark.parametrize(
    "name", ["codex", "gemini", "cursor", "opencode", "amp", "aider", "goose", "qwen"]
)
def test_a_cli_whose_id_is_not_known_does_not_resume(name: str) -> None:
    """An id minted by the CLI has to be read before a sleep can be undone (R62)."""
    assert not PRESETS[name].resume.can_resume


@pytest.mark.parametrize(
    ("command", "preset"),
    [
        ("claude", "claude"),
        ("claude --model opus", "claude"),
        ("/usr/bin/claude", "claude"),
        ("codex", "codex"),
        ("claude --resume x", None),
        ("claude -p hello", None),
        ("claude | tee log", None),
        ("claude && true", None),
        ("A=1 claude", None),
        ("codex exec", None),
        ("./claude.sh", None),
        ("", None),
        ("  ", None),
    ],
)
def test_a_plain_command_is_recognised(command: str, preset: str | None) -> None:
    """A known first word with flags is the CLI; anything for a shell is left alone (R62, R69)."""
    found = preset_of(command)
    assert (found.name if found else None) == preset


def test_a_command_goes_before_a_provider_and_the_citys_last(compose: Compose) -> None:
    """Own command, own provider, default provider, workspace's provider, workspace's command."""
    city = compose("""
        [workspace]
        provider = "codex"
        [agent_defaults]
        provider = "gemini"
        [[agent]]
        name = "own"
        start_command = "./mine"
        [[agent]]
        name = "both"
        start_command = "claude-wrapper"
        provider = "claude"
        [[agent]]
        name = "named"
        provider = "opencode"
        [[agent]]
        name = "default"
    """)
    started = {name: (agent.preset, agent.start_command) for name, agent in city.agents.items()}
    assert started == {
        "own": ("", "./mine"),
        "both": ("claude", "claude-wrapper"),
        "named": ("opencode", "opencode"),
        "default": ("gemini", "gemini"),
    }
    assert city.agents["both"].resume.can_resume
    last = compose('[workspace]\nstart_command = "./all"\n[[agent]]\nname = "a"\n').agents["a"]
    assert (last.preset, last.start_command) == ("", "./all")


def test_a_provider_inherits_through_its_bases(compose: Compose) -> None:
    """Settings are laid over each other from the preset outwards, environments merged."""
    agent = compose("""
        [providers.mine]
        base = "claude"
        command = "/opt/claude"
        args = ["--one"]
        env = { B = "2" }
        [providers.claude]
        ready_delay_ms = 0
        process_names = ["claude"]
        env = { A = "1", B = "1" }
        [[agent]]
        name = "a"
        provider = "mine"
        ready_prompt_prefix = "> "
        env = { C = "3" }
    """).agents["a"]
    assert (agent.preset, agent.preset_known) == ("claude", True)
    assert (agent.start_command, agent.args) == ("/opt/claude", ("--one",))
    assert (agent.ready_delay_ms, agent.ready_prompt_prefix) == (0, "> ")
    assert agent.process_names == ("claude",)
    assert agent.env == {"A": "1", "B": "2", "C": "3"}
    assert agent.resume == PRESETS["claude"].resume


def test_a_provider_of_ones_own_is_not_a_known_preset(compose: Compose) -> None:
    """Nothing is assumed of it that the file does not say (R62)."""
    agent = compose("""
        [providers.devin]
        base = ""
        command = "devin"
        resume_flag = "--resume"
        resume_style = "subcommand"
        [[agent]]
        name = "a"
        provider = "devin"
    """).agents["a"]
    assert (agent.preset, agent.preset_known, agent.start_command) == ("devin", False, "devin")
    assert (agent.resume.flag, agent.resume.style) == ("--resume", "subcommand")


@pytest.mark.parametrize(
    ("text", "what", "fatal"),
    [
        ('[providers.a]\nbase = "b"\n[providers.b]\nbase = "a"\n', "a circle of providers", True),
        ('[providers.a]\nbase = "clod"\n', "no such provider", False),
        ('[providers.a]\nbase = "builtin:clod"\n', "no such provider", False),
        ('[[agent]]\nname = "x"\n', "has no command", False),
    ],
)
def test_a_provider_that_leads_nowhere_is_said(
    load: Load, text: str, what: str, fatal: bool
) -> None:
    """Circles are errors; an unknown base loads with a warning (R6c)."""
    result = load(text)
    assert any(what in problem.what for problem in result.problems)
    assert bool(result.errors) is fatal


def test_a_provider_based_on_itself_means_the_one_we_ship(compose: Compose) -> None:
    """`base = "claude"` inside `[providers.claude]` is the preset of that name."""
    for base in ("claude", "builtin:claude"):
        agent = compose(
            f'[providers.claude]\nbase = "{base}"\n[[agent]]\nname = "a"\nprovider = "claude"\n'
        ).agents["a"]
        assert agent.resume.can_resume
