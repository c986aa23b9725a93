"""Sessions in tmux, on a server of the city's own: one bulk look a tick, exact targets, no keys.

`TmuxRuntime` is the adapter; `ServerId` is what the controller stores about the server so that an
absent socket can be told from a lost one; `default_socket` names the city's server;
`forget_starts` removes what a killed controller left.

Source: DESIGN §8 (R9..R16, R45, R63, R66, R67)
"""

from gascity.runtimes.tmux.launch import forget_starts
from gascity.runtimes.tmux.runtime import TmuxRuntime, default_socket
from gascity.runtimes.tmux.server import ServerId

__all__ = ["ServerId", "TmuxRuntime", "default_socket", "forget_starts"]
