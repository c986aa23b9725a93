"""How an agent is started: command, conversation, environment, work dir."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gascity.act.launch import build_command, build_spec, resolve_work_dir, session_environment
from gascity.model.city import Agent, City, Resume, Rig, WakeMode
from gascity.model.roster import Place, slot_place
from gascity.model.session import Session
from gascity.runtimes.base import StartFailed
from gascity.testing.builders import a_session

CLAUDE = Resume(
    flag="--resume",
    session_id_flag="--session-id",
    transcript="{home}/.claude/projects/{cwd_slug}/{key}.jsonl",
)


def an_agent(**fields: object) -> Agent:
    return Agent(identity="rig/mayor", name="mayor", start_command="claude", **fields)  # type: ignore[arg-type]


def a_start(**fields: object) -> Session:
    started = {"generation": 1, "instance_token": "t0ken", "session_key": "k-1", **fields}
    return replace(a_session("rig--mayor"), **started)


def a_place(agent: Agent) -> Place:
    return Place(name="rig--mayor", template=agent.identity, agent=agent)


@pytest.fixture
def city(tmp_path: Path) -> City:
    return City(name="c", path=str(tmp_path), rigs={"rig": Rig(name="rig", path="repo")})


class TestCommand:
    """R62, R69: the agent's own command, its conversation named."""

    def line(self, agent: Agent, session: Session, home: Path, work_dir: Path) -> str:
        return build_command(session, agent, work_dir=work_dir, env={"HOME": str(home)})

    def test_a_plain_command_is_left_unchanged(self, tmp_path: Path) -> None:
        """`start_command` goes to the shell as it is written (R69)."""
        agent = replace(an_agent(), start_command="cd x && exec ./run 'a b' | tee log")
        session = a_start(session_key="")
        assert self.line(agent, session, tmp_path, tmp_path) == agent.start_command

    def test_args_are_quoted_and_appended(self, tmp_path: Path) -> None:
        """A hostile argument stays one argument (R69, E4)."""
        agent = an_agent(args=("--name", "it's $(rm -rf /)"))
        line = self.line(agent, a_start(session_key=""), tmp_path, tmp_path)
        assert line == """claude --name 'it'"'"'s $(rm -rf /)'"""

    def test_the_key_is_passed_at_the_first_start(self, tmp_path: Path) -> None:
        """No transcript on disk: the conversation is begun under our key (R62)."""
        line = self.line(an_agent(resume=CLAUDE), a_start(), tmp_path, tmp_path)
        assert line == "claude --session-id k-1"

    def test_the_conversation_is_resumed_once_its_transcript_exists(self, tmp_path: Path) -> None:
        """What is on disk decides, not how often it was started (R62)."""
        slug = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(tmp_path.resolve()))
        folder = tmp_path / ".claude" / "projects" / slug
        folder.mkdir(parents=True)
        (folder / "k-1.jsonl").write_text("{}\n")
        agent = an_agent(resume=CLAUDE, args=("--model", "opus"))
        line = self.line(agent, a_start(generation=7), tmp_path, tmp_path)
        assert line == "claude --model opus --resume k-1"

    def test_a_second_start_before_the_first_turn_begins_again(self, tmp_path: Path) -> None:
        """Before its first turn a session has nothing to resume (R62)."""
        line = self.line(an_agent(resume=CLAUDE), a_start(generation=4), tmp_path, tmp_path)
        assert line == "claude --session-id k-1"

    def test_the_transcript_follows_the_configured_folder(self, tmp_path: Path) -> None:
        """CLAUDE_CONFIG_DIR moves where the conversation is kept (R62)."""
        slug = "".join(c if c.isalnum() and c.isascii() else "-" for c in str(tmp_path.resolve()))
        folder = tmp_path / "elsewhere" / "projects" / slug
        folder.mkdir(parents=True)
        (folder / "k-1.jsonl").write_text("{}\n")
        env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "elsewhere")}
        agent = an_agent(resume=CLAUDE)
        line = build_command(a_start(), agent, work_dir=tmp_path, env=env)
        assert line == "claude --resume k-1"

    def test_a_fresh_agent_never_resumes(self, tmp_path: Path) -> None:
        """`wake_mode = "fresh"` begins a new conversation each time (ATT-17)."""
        agent = an_agent(resume=replace(CLAUDE, transcript=""), wake_mode=WakeMode.FRESH)
        line = self.line(agent, a_start(generation=3), tmp_path, tmp_path)
        assert line == "claude --session-id k-1"

    @pytest.mark.parametrize(
        ("resume", "line"),
        [
            (Resume(flag="--continue"), "claude -v --continue k-1"),
            (Resume(flag="resume", style="subcommand"), "claude resume k-1 -v"),
            (Resume(command="claude -r {{.SessionKey}}"), "claude -r k-1"),
        ],
    )
    def test_a_resume_is_spelled_as_configured(
        self, resume: Resume, line: str, tmp_path: Path
    ) -> None:
        """Flag, subcommand or a template of its own (R62)."""
        agent = replace(an_agent(resume=resume), args=("-v",))
        assert self.line(agent, a_start(generation=2), tmp_path, tmp_path) == line

    def test_an_agent_without_a_command_is_refused_by_name(self, tmp_path: Path) -> None:
        """The error says whose command is missing."""
        agent = replace(an_agent(), start_command="  ")
        with pytest.raises(StartFailed, match="rig/mayor has no start_command"):
            self.line(agent, a_start(), tmp_path, tmp_path)


class TestEnvironment:
    """R63, R69; surface "Names and environment of a session"."""

    def test_a_session_knows_who_it_is(self, city: City) -> None:
        """Every name of the surface is there, with the run's token (R63, R37)."""
        agent = an_agent(rig="rig")
        env = session_environment(a_start(), slot_place(agent, 3), city, inherited={})
        assert env["GC_CITY"] == city.path
        assert env["GC_SESSION_NAME"] == "rig--mayor"
        assert env["GC_TEMPLATE"] == "rig/mayor"
        assert env["GC_AGENT"] == "rig/mayor-3"
        assert env["GC_RIG"] == "rig"
        assert env["GC_INSTANCE_TOKEN"] == "t0ken"
        assert env["GC_RUNTIME_EPOCH"] == "1"
        assert env["GC_SESSION_ID"]
        assert env["GC_BIN"]

    @pytest.mark.parametrize(
        "name",
        ["TMUX", "TMUX_PANE", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "NOTIFY_SOCKET",
         "CLAUDE_CODE_CHILD_SESSION", "LISTEN_FDS", "GC_SESSION_ORIGIN", "GC_ALIAS"],
    )  # fmt: skip
    def test_what_belongs_to_somebody_else_is_left_out(self, name: str, city: City) -> None:
        """The controller may itself run inside an agent or a service manager (R69)."""
        place = a_place(an_agent())
        inherited = {name: "theirs", "PATH": "/bin"}
        env = session_environment(a_start(), place, city, inherited=inherited)
        assert "theirs" not in env.values()
        assert env["PATH"] == "/bin"

    def test_values_expand_variables_of_the_controller(self, city: City) -> None:
        """`$VAR` is filled in; an unknown one stays as written (R69)."""
        agent = an_agent(env={"A": "$HOME/x", "B": "$NOBODY", "HOME": "/other"})
        env = session_environment(a_start(), a_place(agent), city, inherited={"HOME": "/me"})
        assert (env["A"], env["B"], env["HOME"]) == ("/me/x", "$NOBODY", "/other")

    def test_the_config_cannot_forge_the_mark(self, city: City) -> None:
        """Ours wins over the agent's own `env` (R37, R63)."""
        agent = an_agent(env={"GC_INSTANCE_TOKEN": "forged", "GC_CITY": "/elsewhere"})
        env = session_environment(a_start(), a_place(agent), city, inherited={})
        assert (env["GC_INSTANCE_TOKEN"], env["GC_CITY"]) == ("t0ken", city.path)


class TestWorkDir:
    """Where an agent runs."""

    def test_a_rig_agent_runs_in_its_rig(self, city: City) -> None:
        """Without a work dir of its own it runs in its rig's folder."""
        (Path(city.path) / "repo").mkdir()
        found = resolve_work_dir(a_place(an_agent(rig="rig")), city)
        assert found == Path(city.path) / "repo"

    def test_a_template_is_filled_in_and_the_folder_made(self, city: City) -> None:
        """A work dir inside the city is made at the start."""
        agent = an_agent(work_dir=".gc/agents/{{.AgentBase}}/{{ .CityName }}")
        found = resolve_work_dir(slot_place(agent, 2), city)
        assert found == Path(city.path) / ".gc/agents/mayor-2/c"
        assert found.is_dir()

    def test_a_folder_outside_the_city_is_not_made(self, city: City, tmp_path: Path) -> None:
        """What is not ours is not made; the start fails and says which folder."""
        agent = an_agent(work_dir="../elsewhere")
        with pytest.raises(StartFailed, match="elsewhere does not exist"):
            resolve_work_dir(a_place(agent), city)
        assert not (tmp_path.parent / "elsewhere").exists()


def test_a_spec_carries_the_mark_and_everything_else(city: City) -> None:
    """Nothing is inherited by accident: the spec is complete (R63, R69)."""
    agent = an_agent(ready_prompt_prefix="> ", screens="claude", process_names=("claude",))
    spec = build_spec(a_start(), a_place(agent), city, inherited={"PATH": "/bin"})
    assert (spec.name, spec.token, spec.city) == ("rig--mayor", "t0ken", city.path)
    assert spec.env["GC_INSTANCE_TOKEN"] == spec.token
    assert (spec.prompt_prefix, spec.screens, spec.process_names) == ("> ", "claude", ("claude",))
