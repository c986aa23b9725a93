"""How an agent is started: its command with the conversation it continues, and its environment.

Source: DESIGN §W (R62, R63, R69); surface "Names and environment of a session"
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Template

from gascity.model.city import Agent, City, WakeMode
from gascity.model.roster import Place
from gascity.model.session import Session
from gascity.observe.commands import NOT_OURS
from gascity.runtimes.base import Spec, StartFailed


def build_spec(session: Session, place: Place, city: City, *, inherited: Mapping[str, str]) -> Spec:
    """Everything the runtime needs to host this session.

    Args:
        session: Its record as saved for this start: generation, token and key are the new ones.
        inherited: The controller's own environment.

    Raises:
        StartFailed: there is no command, or its work dir cannot be.
    """
    agent = place.agent
    env = session_environment(session, place, city, inherited=inherited)
    work_dir = resolve_work_dir(place, city)
    return Spec(
        name=session.name,
        session_id=session.id,
        token=session.instance_token,
        city=city.path,
        command=build_command(session, agent, work_dir=work_dir, env=env),
        work_dir=str(work_dir),
        env=env,
        prompt_prefix=agent.ready_prompt_prefix,
        screens=agent.screens,
        process_names=agent.process_names,
        ready_delay_ms=agent.ready_delay_ms,
        fresh=agent.wake_mode is WakeMode.FRESH,
    )


def session_environment(
    session: Session, place: Place, city: City, *, inherited: Mapping[str, str]
) -> dict[str, str]:
    """The whole environment: inherited less what is somebody else's, the agent's `env`, ours."""
    base = {key: value for key, value in inherited.items() if not NOT_OURS.fullmatch(key)}
    for key, value in place.agent.env.items():
        base[key] = Template(value).safe_substitute(inherited)
    identity = place.template if place.slot is None else f"{place.template}-{place.slot}"
    ours = {
        "GC_CITY": city.path,
        "GC_SESSION_NAME": session.name,
        "GC_SESSION_ID": session.id,
        "GC_TEMPLATE": place.template,
        "GC_AGENT": identity,
        "GC_RIG": place.agent.rig,
        "GC_BIN": own_program(),
        "GC_INSTANCE_TOKEN": session.instance_token,
        "GC_RUNTIME_EPOCH": str(session.generation),
    }
    return {**base, **ours}


def own_program() -> str:
    """The `gc` that belongs to this interpreter."""
    beside = Path(sys.executable).parent / "gc"
    return str(beside) if beside.exists() else str(Path(sys.argv[0]).resolve())


def resolve_work_dir(place: Place, city: City) -> Path:
    """The directory it runs in: its own, its rig's, or the city's; made when inside the city.

    Raises:
        StartFailed: it does not exist and is not ours to make.
    """
    root = Path(city.path)
    rig = city.rigs.get(place.agent.rig)
    rig_root = root / rig.path if rig is not None and rig.path else root
    chosen = rig_root
    if place.agent.work_dir:
        chosen = root / expand_template(place.agent.work_dir, place, city, rig_root)
    if "\0" in str(chosen):
        raise StartFailed("its work dir holds a NUL character")
    if chosen.is_dir():
        return chosen
    if not chosen.resolve().is_relative_to(root.resolve()):
        raise StartFailed(f"its work dir {chosen} does not exist")
    try:
        chosen.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StartFailed(f"its work dir {chosen} cannot be made: {problem.strerror}") from None
    return chosen


def expand_template(text: str, place: Place, city: City, rig_root: Path) -> str:
    """Fill in `{{.Agent}}` and its kin; an unknown name is left as it is."""
    slot = "" if place.slot is None else f"-{place.slot}"
    values = {
        "Agent": place.template + slot,
        "AgentBase": place.agent.name + slot,
        "Rig": place.agent.rig,
        "RigRoot": str(rig_root),
        "CityRoot": city.path,
        "CityName": city.name,
    }

    def fill(match: re.Match[str]) -> str:
        return values.get(match[1], match[0])

    return re.sub(r"\{\{\s*\.(\w+)\s*\}\}", fill, text)


def build_command(session: Session, agent: Agent, *, work_dir: Path, env: Mapping[str, str]) -> str:
    """The command line for `/bin/sh -c`: the agent's own, its args quoted, its conversation named.

    Whether a conversation is resumed or begun is decided by what is on disk (R62). Every flag of
    the agent is given again at every start.

    Raises:
        StartFailed: the agent has no command.
    """
    if not agent.start_command.strip():
        raise StartFailed(f"agent {agent.identity} has no start_command and no provider with one")
    command = " ".join([agent.start_command, *map(shlex.quote, agent.args)])
    if not session.session_key:
        return command
    key = shlex.quote(session.session_key)
    if resumes(session, agent, work_dir=work_dir, env=env):
        return _resume_command(command, agent, key)
    flag = agent.resume.session_id_flag
    return f"{command} {flag} {key}" if flag else command


def _resume_command(command: str, agent: Agent, key: str) -> str:
    if agent.resume.command:
        return agent.resume.command.replace("{{.SessionKey}}", key)
    if agent.resume.style == "subcommand":
        first, _, rest = command.partition(" ")
        return f"{first} {agent.resume.flag} {key} {rest}".rstrip()
    return f"{command} {agent.resume.flag} {key}"


def resumes(session: Session, agent: Agent, *, work_dir: Path, env: Mapping[str, str]) -> bool:
    """Whether there is a conversation to come back to.

    With a transcript path known, its file decides: before the first turn there is nothing to
    resume. Without one, every start after the first resumes.
    """
    if agent.wake_mode is WakeMode.FRESH or not agent.resume.can_resume:
        return False
    if not agent.resume.transcript:
        return session.generation > 1
    return transcript_path(session, agent, work_dir=work_dir, env=env).is_file()


def transcript_path(
    session: Session, agent: Agent, *, work_dir: Path, env: Mapping[str, str]
) -> Path:
    """Where the agent CLI keeps this conversation."""
    slug = re.sub(r"[^A-Za-z0-9]", "-", str(work_dir.resolve()))
    home = env.get("HOME") or str(Path.home())
    values = {"{home}": home, "{cwd_slug}": slug, "{key}": session.session_key}
    # In one pass, and by name only: `str.format` would look into attributes and raise.
    filled = re.sub(
        r"\{(home|cwd_slug|key)\}", lambda found: values[found[0]], agent.resume.transcript
    )
    config = env.get("CLAUDE_CONFIG_DIR")
    if config and filled.startswith(f"{home}/.claude/"):
        filled = config + filled.removeprefix(f"{home}/.claude")
    return Path(filled)
