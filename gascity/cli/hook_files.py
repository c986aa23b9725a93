"""Where each agent CLI keeps its hooks, in which shape, and which of them tell us something.

A command is the same for good (Codex asks again about one that changes), costs nothing outside a
session of ours, and fails for nobody: what is not there is no error.

Source: DESIGN §8 (R15); surface "Command line"
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

MARK: Final = " agent-event "
_COMMAND: Final = (
    '[ -z "$GC_INSTANCE_TOKEN" ] || ${{GC_BIN:-gc}} agent-event {name} 2>/dev/null || :'
)
_CLAUDE: Final = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse",
    "PostToolUseFailure", "Elicitation", "ElicitationResult", "Notification", "PreCompact",
    "PostCompact", "SubagentStop", "Stop", "StopFailure", "SessionEnd",
)  # fmt: skip
_CODEX: Final = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse", "Stop",
)  # fmt: skip
_GEMINI: Final = (
    "SessionStart", "BeforeAgent", "AfterAgent", "BeforeTool", "AfterTool", "Notification",
    "SessionEnd",
)  # fmt: skip
_QWEN: Final = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PermissionRequest", "PostToolUse",
    "Notification", "Stop", "StopFailure", "SessionEnd",
)  # fmt: skip
_COPILOT: Final = (
    "sessionStart", "userPromptSubmitted", "preToolUse", "permissionRequest", "postToolUse",
    "notification", "agentStop", "errorOccurred", "sessionEnd",
)  # fmt: skip
_CURSOR: Final = ("sessionStart", "beforeSubmitPrompt", "stop", "sessionEnd")

_PLUGIN: Final = """\
// Tells the controller of a gascity what goes on, inside its sessions only.
// `gc hooks remove opencode` takes it away.
const { spawn } = require("node:child_process")

const KINDS = {
  "session.created": "here",
  "permission.asked": "pending",
  "permission.updated": "pending",
  "question.asked": "pending",
  "permission.replied": "pending-clear",
  "question.replied": "pending-clear",
  "question.rejected": "pending-clear",
  "session.error": "turn-close",
}

export const Gascity = async () => {
  if (!process.env.GC_INSTANCE_TOKEN) return {}
  const words = (process.env.GC_BIN || "gc").split(" ")
  const children = new Set() // sessions of subagents: their turns are not the session's
  const tell = (kind, ...more) => {
    try {
      const argv = [...words.slice(1), "agent-event", kind, ...more]
      spawn(words[0], argv, { stdio: "ignore", detached: true }).on("error", () => {}).unref()
    } catch {}
  }
  return {
    event: async ({ event }) => {
      const about = event.properties || {}
      const info = about.info || {}
      if (info.parentID) children.add(info.id)
      const id = about.sessionID || info.id
      if (event.type === "session.status" && !children.has(id)) {
        tell((about.status || {}).type === "idle" ? "turn-close" : "turn-open")
      } else if (event.type === "session.created" && info.parentID) {
        return
      } else if (KINDS[event.type]) {
        const title = about.title || about.question || ""
        const what = event.type.startsWith("permission") ? "permission" : "choice"
        tell(KINDS[event.type], ...(title ? [`--what=${what}`, `--question=${title}`] : []))
      }
    },
  }
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookFile:
    """One CLI's hooks: the file below `home` (or below the folder that `variable` names).

    `shape` says how a handler is written: in `groups` with a timeout of `timeout`, `flat`, or the
    whole file is ours (`text`).
    """

    variable: str
    home: str
    name: str
    shape: str
    events: tuple[str, ...] = ()
    timeout: int = 5
    matcher: str = ""
    is_ours: bool = False
    text: str = ""
    note: str = ""


FILES: Final[Mapping[str, HookFile]] = {
    "claude": HookFile(
        variable="CLAUDE_CONFIG_DIR", home=".claude", name="settings.json", shape="groups",
        events=_CLAUDE,
    ),
    "codex": HookFile(
        variable="CODEX_HOME", home=".codex", name="hooks.json", shape="groups", events=_CODEX,
        note="Codex asks a person once to review new hooks; until then it runs none of them",
    ),
    "gemini": HookFile(
        variable="", home=".gemini", name="settings.json", shape="groups", events=_GEMINI,
        timeout=2000, matcher="*",
    ),
    "qwen": HookFile(
        variable="", home=".qwen", name="settings.json", shape="groups", events=_QWEN, timeout=2000,
    ),
    "copilot": HookFile(
        variable="COPILOT_HOME", home=".copilot", name="hooks/gascity.json", shape="flat",
        events=_COPILOT, is_ours=True,
    ),
    "cursor": HookFile(
        variable="", home=".cursor", name="hooks.json", shape="flat", events=_CURSOR,
    ),
    "opencode": HookFile(
        variable="OPENCODE_CONFIG_DIR", home=".config/opencode", name="plugins/gascity.js",
        shape="text", is_ours=True, text=_PLUGIN,
    ),
}  # fmt: skip


def with_hooks(cli: str, before: Mapping[str, Any]) -> dict[str, Any]:
    """The document with our handlers at the end of each event, and everything else as it was."""
    about = FILES[cli]
    document = without_hooks(before)
    if about.shape == "flat":
        document = {"version": 1, **document}
    hooks = dict(document.get("hooks") or {})
    for event in about.events:
        hooks[event] = [*hooks.get(event, []), _entry(cli, event)]
    return {**document, "hooks": hooks}


def without_hooks(before: Mapping[str, Any]) -> dict[str, Any]:
    """The document without any handler of ours; what that leaves empty goes as well."""
    document = dict(before)
    hooks = document.get("hooks")
    if not isinstance(hooks, dict):
        return document
    kept = {event: _others(entries) for event, entries in hooks.items()}
    left = {event: kept[event] for event in hooks if kept[event] or not hooks[event]}
    if left or not hooks:
        return {**document, "hooks": left}
    del document["hooks"]
    return document


def _others(entries: Any) -> Any:
    if not isinstance(entries, list):
        return entries
    found = []
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("hooks"), list):
            handlers = [one for one in entry["hooks"] if not _is_ours(one)]
            if handlers or not entry["hooks"]:
                found.append({**entry, "hooks": handlers})
        elif not _is_ours(entry):
            found.append(entry)
    return found


def _is_ours(handler: Any) -> bool:
    said: Iterable[Any] = handler.values() if isinstance(handler, dict) else ()
    return any(isinstance(one, str) and MARK in one for one in said)


def _entry(cli: str, event: str) -> dict[str, Any]:
    about, command = FILES[cli], _COMMAND.format(name=event)
    if about.shape == "flat":
        if cli == "copilot":
            return {"type": "command", "bash": command, "timeoutSec": about.timeout}
        return {"command": command}
    handler = {"type": "command", "command": command, "timeout": about.timeout}
    group: dict[str, Any] = {"matcher": about.matcher} if about.matcher else {}
    return {**group, "hooks": [handler]}


def text_of(cli: str, document: Mapping[str, Any]) -> str:
    """The file's text."""
    if FILES[cli].shape == "text":
        return FILES[cli].text
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
