"""The policy chain of an agent: which layer won, what each losing layer said, and where.

For `gc config explain` and the policy part of `gc why`. Plain data; no validation library.

Source: DESIGN §2, §11 (POL-02, CFG-14, CFG-15)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import count

from gascity.config.requested import requested, sleep_chain
from gascity.model.city import Agent, City, Origin, Source
from gascity.model.duration import OFF

_OWN = frozenset({Source.AGENT, Source.RIG_OVERRIDE, Source.AGENT_PATCH})
_ORDER = (Source.AGENT_PATCH, Source.RIG_OVERRIDE, Source.AGENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One layer, most specific first; `says` is "" for a silent one and "unset" for a taken-back
    value. `line` is 0 and `file` "" where nothing was written.
    """

    source: str
    says: str
    wins: bool
    file: str
    table: str
    line: int

    def __str__(self) -> str:
        """`agent_patch        off     city.toml:12 [[patches.agent]] mayor  <- wins`."""
        place = f"{self.file}:{self.line}" if self.line else self.file
        where = " ".join(part for part in (place, self.table) if part)
        text = f"{self.source:<18} {self.says or '-':<8} {where}".rstrip()
        return f"{text}  <- wins" if self.wins else text


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """What an agent's configuration asks of sleep, and why; `via` is empty for a city's own agent,
    else it leads from the table that imports a pack to the pack.
    """

    agent: str
    session_class: str
    requested: str
    source: str
    idle_timeout: str
    masked_by: str
    via: tuple[str, ...]
    layers: tuple[Layer, ...]

    def as_dict(self) -> dict[str, object]:
        """The same, for `--json`."""
        return asdict(self)

    def lines(self) -> list[str]:
        """The same, for people."""
        head = f"{self.agent}: {self.session_class}, sleep={self.requested} (source={self.source})"
        mask = [f"masked_by={self.masked_by}"] if self.masked_by else []
        way = [f"from {' > '.join(self.via)}"] if self.via else []
        return [head, *way, *mask, *(f"  {layer}" for layer in self.layers)]


def explain(city: City, identity: str) -> Explanation | None:
    """The policy chain of an agent, or None if there is no such agent."""
    agent = city.agents.get(identity)
    if agent is None:
        return None
    window, source = requested(city, agent)
    limit = agent.idle_timeout
    masked = limit is not None and window is not OFF and limit <= window
    return Explanation(
        agent=identity,
        session_class=agent.session_class.value,
        requested=str(window),
        source=source.value,
        idle_timeout=str(limit) if limit else "",
        masked_by=f"idle_timeout:{limit}" if masked else "",
        via=tuple(str(step) for step in _way(city, identity)),
        layers=tuple(_layers(city, agent)),
    )


def _way(city: City, identity: str) -> Iterator[Origin]:
    """How an agent of a pack came here: what imports the pack, and so on down to the pack."""
    for step in count():
        origin = city.origin(identity, f"pack.{step}")
        if origin is None:
            return
        yield origin


def _layers(city: City, agent: Agent) -> list[Layer]:
    """Every layer, silent ones included, with the winner marked."""
    chain = sleep_chain(city, agent)
    spoke = {layer.source for layer in chain}
    silent = [source for source in _ORDER if source not in spoke]
    lines: list[Layer] = [_line(source, "", Origin("", "")) for source in silent]
    taken_back = decided = False
    for layer in chain:
        is_own = layer.source in _OWN
        wins = layer.value is not None and not decided and not (is_own and taken_back)
        decided = decided or wins
        taken_back = taken_back or (is_own and layer.value is None)
        says = str(layer.value) if layer.value is not None else ("unset" if is_own else "")
        lines.append(_line(layer.source, says, layer.origin, wins=wins))
    rank = {source: index for index, source in enumerate((*_ORDER, *_BELOW))}
    return sorted(lines, key=lambda line: rank[Source(line.source)])


_BELOW = (Source.RIG_DEFAULT, Source.WORKSPACE_DEFAULT, Source.LEGACY_OFF)


def _line(source: Source, says: str, origin: Origin, *, wins: bool = False) -> Layer:
    return Layer(
        source=source.value,
        says=says,
        wins=wins,
        file=origin.file,
        table=origin.table,
        line=origin.line,
    )
