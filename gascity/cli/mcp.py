"""`gc mcp`: the tool server, over stdin and stdout or over HTTP on loopback.

Inside a session it speaks to the controller of its city; elsewhere it works alone.

Source: surface "Command line" (R48, R49)
"""

from __future__ import annotations

import argparse
import os
import signal

from gascity import __version__
from gascity.cli.failure import DONE, INTERRUPTED, Failure
from gascity.cli.output import note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gascity.tools.mcp import ToolServer


def configure(command: str, parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `gc mcp`."""
    parser.add_argument(
        "--http",
        type=_port,
        metavar="PORT",
        help="serve http://127.0.0.1:PORT/mcp instead of stdin and stdout; 0 takes a free port",
    )


def run(args: argparse.Namespace) -> int:
    """Serve until the client closes stdin, or over HTTP until a signal."""
    if args.http is None:
        # What stdio servers have is their client's: at a signal they just go.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        from gascity.tools.mcp import serve_stdio

        serve_stdio(_server(args))
        return DONE
    return _over_http(args)


def _over_http(args: argparse.Namespace) -> int:
    from gascity.tools.mcp_http import bound, serve_http

    try:
        listener = bound(args.http)
    except OSError as error:
        do = "choose another port, or 0 for a free one"
        raise Failure(f"port {args.http} on loopback: {error.strerror}", do) from None
    got = serve_http(_server(args), listener, ready=lambda url: print(url, flush=True))
    return INTERRUPTED if got == signal.SIGINT else DONE


def _server(args: argparse.Namespace) -> ToolServer:
    from gascity.cli.surroundings import of_session
    from gascity.tools import Nowhere, WaitUntilTool, create_default_tools
    from gascity.tools.mcp import ToolServer

    around = of_session(os.environ)
    tools = create_default_tools()
    if around is not None:  # elsewhere nobody would keep a wait
        tools.register(WaitUntilTool(around))
    return ToolServer(
        tools,
        surroundings=around or Nowhere(),
        version=__version__,
        say=lambda line: note(args, line),
    )


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text[:6]) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; write 1 to 65535, or 0 for any")
    return int(text)
