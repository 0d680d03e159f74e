"""Connections that nobody can hold for ever: a request that has begun is soon there as a whole."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

SLOWEST_REQUEST = 10.0  # seconds; browsers send one at once


class ImpatientProtocol(H11Protocol):
    """uvicorn's protocol, which bounds how long a connection may rest between two requests, but not how long one may
    take to arrive: whoever sends a byte now and then would keep the connection, and a hundred of them the page."""

    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        super().connection_lost(exc)
        self._rest()

    def _watch(self) -> None:
        """Count the time from the first byte of a request to its last."""
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._rest()
        elif self._patience is None:
            self._patience = self.loop.call_later(SLOWEST_REQUEST, self.transport.abort)

    def _rest(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
