"""A uvicorn protocol with a timeout for request heads; uvicorn itself waits for a request without limit."""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from greval.serve.service import Service


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol with a timeout within which the head of a request must arrive.

    uvicorn's own limit applies between requests only. Slow clients could otherwise hold every connection.
    """

    _timer: asyncio.TimerHandle | None = None
    _reader: asyncio.TimerHandle | None = None

    @property
    def _is_idle(self) -> bool:
        """Return whether no request is being served."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's own
        """Start the timeout of the first request."""
        super().connection_made(transport)
        self._start_timer()

    def data_received(self, data: bytes) -> None:
        """Process data; the timeout runs while a head is incomplete or no request is being served."""
        super().data_received(data)
        if self._is_idle:
            self._start_timer()
        else:
            self._cancel_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeouts."""
        self._cancel_timer()
        self._cancel_reader_timer()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the timeout for a client that does not read its response."""
        super().pause_writing()
        self._watch_reader(self.transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        """Cancel that timeout, because the client reads."""
        self._cancel_reader_timer()
        super().resume_writing()

    def shutdown(self) -> None:
        """Notify the app, so that it ends its event streams."""
        super().shutdown()
        self._service.stopping.set()

    @property
    def _patience(self) -> float:
        return self._service.settings.limits.patience

    @property
    def _service(self) -> Service:
        app: Any = self.app
        return cast("Service", app.state.service)

    def _start_timer(self) -> None:
        # A timer that runs is kept: a head that comes byte by byte must not extend it.
        if self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(self._patience, self._abort_if_idle)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _abort_if_idle(self) -> None:
        self._timer = None
        if self._is_idle:
            self.transport.abort()

    def _watch_reader(self, unread: int) -> None:
        """Abort the connection if the client reads nothing of its response in time; any progress is enough."""

        def check_progress() -> None:
            still_unread = self.transport.get_write_buffer_size()
            if still_unread >= unread:
                self.transport.abort()
            else:
                self._watch_reader(still_unread)

        self._reader = self.loop.call_later(self._patience, check_progress)

    def _cancel_reader_timer(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            self._reader = None
