"""Sessions behind a script that speaks the ecosystem's script protocol."""

from gascity.runtimes.exec.lore import OPTIONAL
from gascity.runtimes.exec.runtime import ExecRuntime
from gascity.runtimes.exec.script import KIND, Answer, Script, find_script, start_config

__all__ = ["KIND", "OPTIONAL", "Answer", "ExecRuntime", "Script", "find_script", "start_config"]
