"""The page on a loopback address, until it is told to end."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from hmrf_fast.errors import InputError
from hmrf_fast.labeling.desk import Desk

LOOPBACK = "127.0.0.1"
TICK = 0.5  # seconds; some systems let no signal through while somebody waits without end


def listen(port: int = 0) -> socket.socket:
    """A socket on the loopback address; port 0 is any that is free.

    Raises
    ------
    InputError
        If the port cannot be had, or the server libraries are not installed.
    """
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ModuleNotFoundError:
        raise InputError('the labelling page needs Starlette and uvicorn: pip install "hmrf_fast[label]"') from None
    try:
        return socket.create_server((LOOPBACK, port))
    except (OSError, OverflowError) as error:
        reason = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
        raise InputError(
            f"port {port} of {LOOPBACK} cannot be used ({reason}); choose another, or leave it out for a free one"
        ) from None


class LabelServer:
    """Serves the page of a desk, in a thread of its own, for one machine and whoever knows the address.

    Parameters
    ----------
    desk : Desk
    port : int or socket, default=0
        A port of the loopback address, 0 for any that is free; or what `listen` returned.

    Attributes
    ----------
    url : str
        The address, with a secret that is new every time.

    Raises
    ------
    InputError
        As for `listen`.

    Examples
    --------
    ::

        with LabelServer(desk) as page:
            print(page.url)
            ...  # answer in a browser; desk.learner.constraints_ grows
    """

    def __init__(self, desk: Desk, port: int | socket.socket = 0) -> None:
        self.desk = desk
        self._socket = port if isinstance(port, socket.socket) else listen(port)
        self._token = secrets.token_urlsafe(32)
        self.url = f"http://{LOOPBACK}:{self._socket.getsockname()[1]}/{self._token}/"
        self._end = threading.Event()

    def __enter__(self) -> LabelServer:
        import uvicorn

        from hmrf_fast.labeling.application import application
        from hmrf_fast.labeling.connection import ImpatientProtocol

        # No access log: it would hold the token. No forwarded addresses: there is no proxy to believe.
        settings: dict[str, Any] = {
            "http": ImpatientProtocol, "ws": "none", "loop": "asyncio", "lifespan": "off", "log_config": None,
            "access_log": False, "server_header": False, "proxy_headers": False, "limit_concurrency": 100,
            "timeout_graceful_shutdown": 2,
        }  # fmt: skip
        self._server = uvicorn.Server(uvicorn.Config(application(self.desk, self._token), **settings))
        self._thread = threading.Thread(
            target=self._server.run, args=([self._socket],), name="hmrf_fast page", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        self.desk.close()

    def run(self) -> None:
        """Serve until Ctrl-C, SIGTERM, or `stop` in another thread."""
        with self, _signals_that(self.stop):
            while not self._end.wait(TICK) and self._thread.is_alive():
                pass

    def stop(self, *_: Any) -> None:
        """Let `run` return.

        Parameters
        ----------
        *_
            Ignored: what a signal handler gets.
        """
        self._end.set()


@contextmanager
def _signals_that(stop: Any) -> Iterator[None]:
    """Ctrl-C and SIGTERM call a function, where Python can hear them and nobody ignores them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    heard = {number: handler for number, handler in before.items() if handler not in (None, signal.SIG_IGN)}
    for number in heard:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in heard.items():
            signal.signal(number, handler)
