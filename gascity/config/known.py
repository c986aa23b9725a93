"""Keys that real cities carry for other tools of the ecosystem.

`QUIET` ones are accepted and counted: they change nothing that this product decides. `UNUSED` ones
would change what runs, so one warning a load says that they do not. A key in neither list, and
not in the schema, is reported with its nearest neighbour.

Source: DESIGN §1 (R5)
"""

from __future__ import annotations

from typing import Final


def _keys(words: str) -> frozenset[str]:
    return frozenset(words.split())


_AGENT_QUIET: Final = _keys(
    """
    scope prompt_template prompt_mode prompt_flag nudge emits_permission_warning sling_query
    drain_timeout on_boot on_death namepool session_setup session_setup_script session_live
    pre_start overlay_dir hooks_installed install_agent_hooks inject_fragments append_fragments
    inject_assigned_skills default_sling_formula fallback skills mcp upstream mouse_mode
    pre_start_append session_setup_append session_live_append install_agent_hooks_append
    inject_fragments_append skills_append mcp_append max_session_age max_session_age_jitter
    assigned_work_defer_limit lifecycle tmux_alias
    """
)
_PROVIDER_QUIET: Final = _keys(
    """
    display_name prompt_mode prompt_flag emits_permission_warning path_check supports_acp
    supports_hooks instructions_file permission_modes options_schema
    options_schema_merge print_args title_model
    """
)

QUIET: Final[dict[str, frozenset[str]]] = {
    "": _keys(
        """
        mail dolt formulas orders api chat_sessions convergence service defaults upstreams agents
        """
    ),
    "pack file": _keys(
        """
        formulas doctor commands global service webhook defaults upstreams runtimes pricing agents
        """
    ),
    "pack": _keys("version description requires"),
    "import": frozenset(),
    "pack ref": frozenset(),
    "site": _keys("workspace_prefix"),
    "site rig": frozenset(),
    "map": _keys("pinned"),
    "lock": _keys("version fetched"),
    "workspace": _keys(
        """
        prefix session_template install_agent_hooks global_fragments default_rig_includes
        """
    ),
    "agent": _AGENT_QUIET,
    "override": _AGENT_QUIET,
    "patch": _AGENT_QUIET,
    "pool": _keys("drain_timeout on_death on_boot"),
    "rig patch": _keys("prefix"),
    "provider patch": _PROVIDER_QUIET,
    "named patch": frozenset(),
    "named_session": frozenset(),
    "rigs": _keys(
        """
        prefix formulas_dir default_sling_target dolt_host dolt_port default_branch formula_vars
        """
    ),
    "patches": frozenset(),
    "agent_defaults": _keys(
        "model default_sling_formula allow_overlay allow_env_override append_fragments upstream"
    ),
    "provider": _PROVIDER_QUIET,
    "screens": frozenset(),
    "daemon": _keys(
        """
        drift_drain_timeout wisp_gc_interval wisp_ttl observe_paths formula_v2 graph_workflows
        nudge_dispatcher tick_debounce
        """
    ),
    "session": _keys(
        """
        setup_timeout nudge_ready_timeout nudge_retry_interval nudge_lock_timeout debounce_ms
        display_ms acp k8s
        """
    ),
    "events": _keys("provider"),
    "beads": frozenset(),
    "session_sleep": frozenset(),
}

UNUSED: Final[dict[str, dict[str, str]]] = {
    "agent": {"option_defaults": "write the flags into args"},
    "override": {"option_defaults": "write the flags into args"},
    "patch": {"option_defaults": "write the flags into args"},
    "provider": {"option_defaults": "write the flags into args"},
    "provider patch": {"option_defaults": "write the flags into args"},
    "workspace": {"max_active_sessions": "set it on each pool"},
    "rigs": {"max_active_sessions": "set it on each pool"},
    "agent_defaults": {"wake_mode": "set wake_mode on each agent that needs it"},
}

# A file in which none of these stands at the top is some other tool's city.toml.
MARKS_OF_A_CITY: Final = _keys(
    """
    include workspace agent named_session rigs patches agent_defaults providers session_sleep
    daemon session events beads packs imports
    """
)
