"""Hooks of agent CLIs in words of ours: a table by the hook's name, and what their objects tell.

Names are compared without case and separators, so `UserPromptSubmit`, `userPromptSubmitted` and
`prompt-submitted` are found in one table. A hook nobody knows only shows that something happened.

Source: DESIGN §8 (R15, R79)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NAMES = {
    "here": "here sessionstart session.created session-started",
    "turn-open": """turn-open userpromptsubmit userpromptsubmitted beforesubmitprompt beforeagent
        pretooluse precompact prompt-submitted busy session.busy agent.start turn-started""",
    "turn-close": """turn-close turn-ended stop stopfailure afteragent agentstop erroroccurred
        interrupt agent-turn-complete idle session.idle session.error agent.end turn-complete""",
    "pending": """pending permissionrequest elicitation permission-asked permission.asked
        question.asked permission.updated question-asked""",
    "pending-clear": """pending-clear posttooluse posttoolusefailure permissiondenied
        elicitationresult beforetool aftertool permission-answered permission.replied
        question.replied question.rejected question-answered""",
    "work": "work subagentstop",
    "work-begin": "work-begin background-started task-started background-task-started",
    "work-end": "work-end background-ended task-ended background-task-ended",
    "gone": "gone sessionend session-ended session.deleted",
}


def _plain(name: str) -> str:
    return "".join(sign for sign in name.lower() if sign.isalnum())


KINDS = {_plain(name): kind for kind, names in _NAMES.items() for name in names.split()}
ASKING_TOOLS = {"AskUserQuestion": "choice", "ExitPlanMode": "plan"}
_MOST_ITEMS = 20
_MOST_SIGNS = 200


def said_by(name: str, payload: dict[str, Any]) -> dict[str, Any]:
    """The fields of one signal: kind, source, and what question, work and agent it is about."""
    plain = _plain(name)
    fields: dict[str, Any] = {"kind": KINDS.get(plain, "beat"), "source": name[:60]}
    if plain == "notification":
        fields |= _notification(payload)
    tool = payload.get("tool_name")
    if plain == "pretooluse" and tool in ASKING_TOOLS:
        asked = {"kind": "pending", "what": ASKING_TOOLS[tool]}
        fields |= asked | {"question": _asked(payload)}
    elif plain in {"permissionrequest", "permissionasked"}:
        fields |= {"what": "permission", "question": _wanted(payload)}
    elif plain == "elicitation":
        fields |= {"what": "form", "question": _text(payload.get("message"))}
    elif plain == "postcompact":  # only after one that a person asked for is the turn over
        fields["kind"] = "turn-close" if payload.get("trigger") == "manual" else "beat"
    elif plain == "sessionstart" and payload.get("source") == "compact":
        fields["kind"] = "beat"
    if plain == "subagentstop":
        fields["kind"] = "work" if "background_tasks" in payload else "beat"
    if isinstance(payload.get("background_tasks"), list):
        fields["items"] = [_task(one) for one in payload["background_tasks"][:_MOST_ITEMS]]
    if payload.get("agent_id"):
        fields["sub"] = True
    for key in ("session_id", "sessionId", "conversation_id", "thread-id"):
        if isinstance(payload.get(key), str):
            fields["conversation"] = payload[key][:_MOST_SIGNS]
            break
    return {key: value for key, value in fields.items() if value != ""}


def _notification(payload: dict[str, Any]) -> dict[str, Any]:
    """A notification is a question, or only a word to whoever looks away."""
    kind = _text(payload.get("notification_type"))
    message = _text(payload.get("message"))
    is_old = not kind and "permission" in message.lower()
    if kind in {"permission_prompt", "ToolPermission", "permissionPrompt"} or is_old:
        return {"kind": "pending", "what": "permission", "question": message}
    if kind.startswith("elicitation") and kind != "elicitation_complete":
        return {"kind": "pending", "what": "form", "question": message}
    return {"kind": "beat"}


def _asked(payload: dict[str, Any]) -> str:
    """The question of a tool that asks people."""
    given = payload.get("tool_input")
    questions = given.get("questions") if isinstance(given, dict) else None
    if isinstance(questions, list) and questions and isinstance(questions[0], dict):
        return _text(questions[0].get("question"))
    return ""


def _wanted(payload: dict[str, Any]) -> str:
    """What a tool wants to do."""
    given = payload.get("tool_input")
    given = given if isinstance(given, dict) else {}
    keys = ("command", "file_path", "path", "url", "description")
    wanted = next((given[key] for key in keys if isinstance(given.get(key), str)), "")
    tool = _text(payload.get("tool_name"))
    said = wanted or _text(payload.get("message")) or _text(payload.get("title"))
    return _text(f"{tool}: {said}" if tool and said else tool or said)


def _task(one: object) -> str:
    """How a background task is called."""
    if not isinstance(one, dict):
        return _text(one) or "task"
    keys = ("description", "command", "name", "id")
    return next((_text(one[key]) for key in keys if _text(one.get(key))), "task")


def _text(value: object) -> str:
    return " ".join(value.split())[:_MOST_SIGNS] if isinstance(value, str) else ""
