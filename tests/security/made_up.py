"""A made-up city in which every way to compose is used once."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FILES: Final = {
    "city.toml": """
include = ["parts/tiers.toml"]
[workspace]
name = "made-up"
provider = "claude"
includes = ["packs/old", "kit"]
env = { A = "1" }
[packs.kit]
source = "https://example.org/kit.git"
ref = "v1"
path = "crew"
[imports.crew]
source = "packs/crew"
export = true
[imports.away]
source = "https://example.org/away.git//x"
version = "sha:0123456789abcdef0123456789abcdef01234567"
[providers.second]
base = "claude"
env = { B = "2" }
option_defaults = { model = "x" }
[session_sleep]
interactive_resume = "60s"
noninteractive = "0s"
[daemon]
patrol_interval = "30s"
max_restarts = 5
[session]
provider = "tmux"
startup_timeout = "60s"
[events]
keep = "7d"
[agent_defaults]
provider = "second"
[[agent]]
name = "mayor"
idle_timeout = "2h"
depends_on = ["keeper"]
[[agent]]
name = "pool"
dir = "app"
[agent.pool]
min = 1
max = 3
check = "echo 1"
[[named_session]]
template = "mayor"
mode = "always"
[[named_session]]
template = "lead"
scope = "rig"
[[rigs]]
name = "app"
path = "../app"
includes = ["packs/old"]
[rigs.session_sleep]
interactive_fresh = "5m"
[[rigs.overrides]]
agent = "guard"
sleep_after_idle = "1m"
[[rigs.patches]]
agent = "hand"
pool = { min = 1 }
env_remove = ["A"]
[[rigs]]
name = "web"
suspended_on_start = true
[rigs.imports.crew]
source = "packs/crew"
transitive = false
agents_exclude = ["hand"]
[[rigs]]
name = "docs"
imports = ["crew"]
[[patches.agent]]
dir = "app"
name = "crew.guard"
unset = ["sleep_after_idle"]
[[patches.rigs]]
name = "docs"
suspended = true
[[patches.providers]]
name = "second"
args = ["--x"]
[[patches.named_session]]
dir = "app"
template = "crew.guard"
mode = "always"
""",
    "parts/tiers.toml": """
[[agent]]
name = "tier"
work_dir = "{{.CityRoot}}/tier"
[session_sleep]
interactive_fresh = "off"
""",
    "pack.toml": """
[pack]
name = "made-up"
schema = 2
[imports.inner]
source = "packs/inner"
[[agent]]
name = "keeper"
attach = false
[[patches.agent]]
name = "keeper"
wake_mode = "fresh"
""",
    "agents/lead/agent.toml": 'scope = "rig"\nresume_flag = "--resume"\n[env]\nX = "$HOME"\n',
    "agents/noter/prompt.md": "take notes\n",
    "packs/crew/pack.toml": """
[pack]
name = "crew"
schema = 2
[imports.inner]
source = "../inner"
[[named_session]]
template = "guard"
scope = "rig"
[[patches.agent]]
name = "dog"
idle_timeout = "1h"
""",
    "packs/crew/agents/guard/agent.toml": 'scope = "rig"\nsleep_after_idle = "5m"\n',
    "packs/crew/agents/hand/agent.toml": 'max_active_sessions = 3\nscale_check = "q {{.Rig}}"\n',
    "packs/inner/pack.toml": '[pack]\nname = "inner"\n[[agent]]\nname = "dog"\nscope = "city"\n',
    "packs/old/pack.toml": """
[pack]
name = "old"
schema = 1
includes = ["../inner"]
[[agent]]
name = "dog"
scope = "city"
fallback = true
[[agent]]
name = "reader"
scope = "rig"
work_query = "q {{.QualifiedName}}"
[providers.third]
command = "third"
""",
    ".gc/site.toml": 'workspace_name = "here"\n[[rig]]\nname = "web"\npath = "/srv/web"\n',
    "packs.lock": '[packs."https://example.org/kit.git"]\ncommit = "ab"\n',
}


def make(folder: Path) -> Path:
    """Write the city into a folder."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"), encoding="utf-8")
    return folder
