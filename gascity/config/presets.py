"""Agent CLIs we know, as data: how each is started, recognised, and given its conversation back.

A preset that lacks resume settings says why: its CLI makes its own id and nobody has told it to us
yet, or its store cannot be looked up by id, so that "start or resume" could not be decided by what
is on disk. Such a preset is still a good worker; it only cannot be put to sleep by default.

Source: DESIGN §W (R62)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from gascity.model.city import Resume

NO_RESUME: Final = Resume()
MINTS_ITS_OWN: Final = "it makes its own conversation id, which is not read yet"
NOT_LOOKED_UP: Final = "its conversations cannot be found by id on disk yet"
NOTHING_TO_RESUME: Final = "it has no conversations to come back to"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """One agent CLI; `why_no_resume` is "" exactly if it can resume."""

    name: str
    command: str
    ready_prompt_prefix: str = ""
    ready_delay_ms: int = 0
    process_names: tuple[str, ...] = ()
    screens: str = ""
    acp_command: str = ""
    acp_args: tuple[str, ...] | None = None
    resume: Resume = NO_RESUME
    why_no_resume: str = ""


_PRESETS: Final = (
    Preset(
        name="claude",
        command="claude",
        ready_prompt_prefix="❯ ",
        ready_delay_ms=10_000,
        process_names=("claude", "node"),
        screens="claude",
        acp_command="claude-agent-acp",
        acp_args=(),
        resume=Resume(
            flag="--resume",
            session_id_flag="--session-id",
            transcript="{home}/.claude/projects/{cwd_slug}/{key}.jsonl",
        ),
    ),
    Preset(
        name="codex",
        command="codex",
        ready_delay_ms=3_000,
        process_names=("codex",),
        screens="codex",
        acp_command="codex-acp",
        acp_args=(),
        why_no_resume=MINTS_ITS_OWN,
    ),
    Preset(
        name="gemini",
        command="gemini",
        ready_prompt_prefix="> ",
        ready_delay_ms=5_000,
        process_names=("gemini", "node"),
        screens="gemini",
        acp_args=("--acp",),
        why_no_resume=NOT_LOOKED_UP,
    ),
    Preset(
        name="copilot",
        command="copilot",
        ready_prompt_prefix="❯ ",
        ready_delay_ms=5_000,
        process_names=("copilot",),
        screens="copilot",
        acp_args=("--acp",),
        resume=Resume(
            flag="--resume",
            session_id_flag="--session-id",
            transcript="{home}/.copilot/session-state/{key}/events.jsonl",
        ),
    ),
    Preset(
        name="cursor",
        command="cursor-agent",
        process_names=("cursor-agent",),
        screens="cursor",
        acp_args=("acp",),
        why_no_resume="it opens a new conversation without a word when the old one is gone",
    ),
    Preset(
        name="opencode",
        command="opencode",
        ready_delay_ms=8_000,
        process_names=("opencode", "node", "bun"),
        screens="opencode",
        acp_args=("acp",),
        why_no_resume=MINTS_ITS_OWN,
    ),
    Preset(
        name="amp",
        command="amp",
        process_names=("amp",),
        screens="amp",
        why_no_resume=MINTS_ITS_OWN,
    ),
    Preset(
        name="aider",
        command="aider",
        process_names=("aider",),
        screens="aider",
        why_no_resume=NOTHING_TO_RESUME,
    ),
    Preset(
        name="goose",
        command="goose session",
        process_names=("goose",),
        screens="goose",
        acp_command="goose",
        acp_args=("acp",),
        why_no_resume=MINTS_ITS_OWN,
    ),
    Preset(
        name="qwen",
        command="qwen",
        ready_prompt_prefix="> ",
        process_names=("qwen", "node"),
        screens="qwen",
        acp_args=("--acp",),
        why_no_resume=NOT_LOOKED_UP,
    ),
    Preset(
        name="auggie",
        command="auggie",
        process_names=("auggie",),
        screens="auggie",
        why_no_resume=MINTS_ITS_OWN,
    ),
    Preset(
        name="pi",
        command="pi",
        ready_delay_ms=8_000,
        process_names=("pi", "node", "bun"),
        screens="pi",
        why_no_resume=MINTS_ITS_OWN,
    ),
    Preset(
        name="omp",
        command="omp",
        process_names=("omp", "node", "bun"),
        screens="omp",
        why_no_resume=MINTS_ITS_OWN,
    ),
)

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType({p.name: p for p in _PRESETS})


_SHELL: Final = frozenset("|&;<>()$`\\\"'*?[]#~=%{}!\n")
_CHOOSES_ITS_CONVERSATION: Final = frozenset(
    {"--resume", "-r", "--continue", "-c", "--session-id", "-p", "--print", "exec", "resume"}
)


def preset_of(command: str) -> Preset | None:
    """The preset that a plain command is, or None.

    `claude --model opus` is one: a known first word, flags, nothing for a shell to do, and no
    flag that names a conversation, so that ours can be added behind it.
    """
    if not command or _SHELL & set(command):
        return None
    words = command.split()
    if not words or _CHOOSES_ITS_CONVERSATION & set(words[1:]):
        return None
    first = words[0].rsplit("/", 1)[-1]
    return next((p for p in _PRESETS if p.command.split()[0] == first), None)
