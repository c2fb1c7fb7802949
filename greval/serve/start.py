"""Starts the server: one process or several, all with the same settings, and the token of one without keys."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import re
import secrets
import signal
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from greval.errors import GrevalError, MissingExtraError
from greval.judging.model.judge import check_judge
from greval.judging.model.prices import Prices
from greval.metrics.sources import load_metrics
from greval.serve.logs import ERRORS, LOGGING
from greval.serve.settings import LOCAL_HOSTS, ServerSettings

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

SETTINGS_VARIABLE = "GREVAL_SERVE_SETTINGS"
"""The environment variable that passes the settings to the processes, as JSON."""
REQUIRED_PACKAGES = ("fastapi", "prometheus_client", "uvicorn")
BACKLOG = 4096
KEEP_ALIVE_SECONDS = 75
"""The seconds for which a connection is kept between requests: longer than proxies and clients keep theirs, so that
none of them sends a request into a connection that is being closed."""
PRIVATE_UMASK = 0o077
"""The server's files are for its own account only, because they hold what its clients sent."""
TOKEN_VARIABLE = "GREVAL_TOKEN"  # noqa: S105 - its name
TOKEN_BYTES = 24
FIXED_TOKEN = re.compile(r"[A-Za-z0-9_~.-]{16,200}")
MALLOC_OPTIONS = {-3: 128 * 1024, -8: 2}
"""Options of `mallopt(3)`: from which size a block goes back to the system when it is freed, and the most arenas."""
SHUTDOWN_SECONDS = 30
"""The seconds that requests in flight have to end when the server stops."""


def app() -> FastAPI:
    """Create the app from the settings in the environment, in a process of uvicorn."""
    from greval.serve.app import create_app

    os.umask(PRIVATE_UMASK)
    _limit_freed_memory()
    Thread(target=_stop_with_parent, daemon=True).start()
    settings = os.environ.get(SETTINGS_VARIABLE)
    if settings is None:
        raise GrevalError(f"{SETTINGS_VARIABLE}: not set; start the server with greval serve")
    created = create_app(ServerSettings.model_validate_json(settings))
    # Building the document takes a second, in which no request would be answered.
    created.openapi()
    return created


def _limit_freed_memory() -> None:
    """Let freed memory go back to the system: glibc would keep up to 64 MB of it in each of many arenas.

    Other C libraries have no such options, and no such habit.
    """
    with suppress(AttributeError):
        for option, value in MALLOC_OPTIONS.items():
            ctypes.CDLL(None).mallopt(option, value)


def _stop_with_parent() -> None:
    """Stop this worker in order if the process that started it is gone: uvicorn's workers would serve for ever."""
    if parent := multiprocessing.parent_process():
        parent.join()
        signal.raise_signal(signal.SIGTERM)


def run_server(settings: ServerSettings, announce: Callable[[str], None] = print) -> None:
    """Serve until a signal ends the server; calls in flight are finished or stored.

    `announce` is called with the address once connections are accepted. Raise `GrevalError` if the server must not or
    cannot listen on the address, or a judge, a file or a folder of the settings cannot be used.
    """
    check_packages()
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    from greval.serve.prometheus import share_counters

    check_exposure(settings)
    check_origins(settings)
    _check_settings(settings)
    os.umask(PRIVATE_UMASK)
    _create_runs_folder(settings.runs)
    listening = open_socket(settings)
    os.environ[SETTINGS_VARIABLE] = settings.model_dump_json()
    _raise_file_limit()
    config = build_uvicorn_config("greval.serve.start:app", factory=True, workers=settings.workers, log_config=LOGGING)
    if not settings.judges:
        ERRORS.warning("no judge is named: computed metrics alone can be used; name one with --judge")
    announce(format_address(settings, listening))
    # Ctrl-C is the usual way to end a server.
    with suppress(KeyboardInterrupt):
        if settings.workers > 1:
            with share_counters():
                Multiprocess(config, sockets=[listening]).run()
        else:
            uvicorn.Server(config).run(sockets=[listening])


def check_packages() -> None:
    """Check that the server's packages are installed, or raise `MissingExtraError`."""
    for package in REQUIRED_PACKAGES:
        if find_spec(package) is None:
            raise MissingExtraError("server", package)


def check_exposure(settings: ServerSettings) -> None:
    """Raise `GrevalError` if the server would listen on a network without keys."""
    if not settings.local and settings.keys is None:
        raise GrevalError(
            f"host {settings.host}: other machines could use the server without a key. "
            "Make one with: greval keys add NAME --file keys.json, and start with --keys keys.json"
        )


def parse_origins(texts: Iterable[str]) -> tuple[str, ...]:
    """Return origins as browsers send them, or raise `GrevalError` for what is none, such as an address with a path.

    Example:
        >>> parse_origins(["https://App.example/"])
        ('https://app.example',)
    """
    origins = []
    for text in texts:
        origin = text.removesuffix("/").lower()
        if not re.fullmatch(r"https?://[^/*\s?#@]+", origin):
            message = f"--cors-origin {text}: expected an origin, such as https://app.example, without a path or *"
            raise GrevalError(message)
        origins.append(origin)
    return tuple(dict.fromkeys(origins))


def check_origins(settings: ServerSettings) -> None:
    """Raise `GrevalError` if pages of other machines could use a server without keys."""
    if settings.keys is not None:
        return
    foreign = [origin for origin in settings.cors_origins if urlsplit(origin).hostname not in LOCAL_HOSTS]
    if foreign:
        raise GrevalError(
            f"--cors-origin {foreign[0]}: without keys its pages could use the server through the browsers of this "
            "machine. Make a key with: greval keys add NAME --file keys.json, and start with --keys keys.json"
        )


def _check_settings(settings: ServerSettings) -> None:
    """Check that the files, folders, metrics and judges of the settings can be used.

    Without this check only the clients would see the errors, never the operator.
    """
    if settings.keys is not None:
        from greval.serve.middleware.api_keys import read_keys

        read_keys(settings.keys)
    for folder in settings.library:
        if not folder.is_dir():
            raise GrevalError(f"{folder}: not a folder; name one that holds metric files with --library")
    load_metrics(settings.metrics, *settings.library)
    for judge in settings.judges.values():
        check_judge(judge)
    _check_quotas(settings)


def _check_quotas(settings: ServerSettings) -> None:
    """Check that quotas of cost can be computed, and that their tenants have keys."""
    prices = Prices.load()
    if any(quota.name == "cost" for quota in settings.quotas):
        for judge in settings.judges.values():
            if prices.of(judge.label) is None:
                raise GrevalError(f"--quota cost: no price is known for {judge.label}; limit calls or tokens instead")
    if settings.keys is None and (tenants := [quota.tenant for quota in settings.quotas if quota.tenant]):
        message = f"--quota {tenants[0]}: without keys there are no tenants; leave {tenants[0]}: out, or give --keys"
        raise GrevalError(message)


def build_uvicorn_config(app: Any, **more: Any) -> uvicorn.Config:  # noqa: ANN401 - an app or where it is found; uvicorn's options
    """Build uvicorn's configuration: small heads, short timeouts, no websockets, and greval's own logs."""
    import uvicorn

    from greval.serve.middleware.access import MAX_HEAD_BYTES

    return uvicorn.Config(
        app,
        http="greval.serve.uvicorn_protocol:PatientProtocol",
        loop="asyncio",
        ws="none",
        lifespan="on",
        backlog=BACKLOG,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        timeout_worker_healthcheck=SHUTDOWN_SECONDS,
        h11_max_incomplete_event_size=MAX_HEAD_BYTES,
        **more,
    )


def open_socket(settings: ServerSettings) -> socket.socket:
    """Return a socket that listens on the address, or raise `GrevalError` if the address cannot be used."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # named, because asyncio sends small responses at once only on sockets that are TCP by their protocol
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(BACKLOG)
    except OSError as error:
        listening.close()
        message = f"{settings.host}:{settings.port}: {error.strerror or error}; choose another --host or --port"
        raise GrevalError(message) from error
    # With several workers, all of them accept connections from this one socket.
    listening.set_inheritable(True)
    return listening


def format_address(settings: ServerSettings, listening: socket.socket) -> str:
    """Return the URL to open in a browser."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{listening.getsockname()[1]}"


def _create_runs_folder(runs: Path) -> None:
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GrevalError(f"{runs}: cannot be created: {error.strerror}; choose another folder with --runs") from error


def _raise_file_limit() -> None:
    """Raise the limit of open files to the system's maximum: the usual soft limit is 1,024 connections."""
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class AccessToken(NamedTuple):
    """A token, and whether the operator chose it: such a token is known already and is never printed."""

    value: str
    is_fixed: bool = False

    def format_link(self, address: str, view: str = "") -> str:
        """Return the address of a view of the page with the token as a fragment.

        Example:
            >>> AccessToken("abc").format_link("http://127.0.0.1:8000"), AccessToken("abc").format_link("", "/runs/a")
            ('http://127.0.0.1:8000/#token=abc', '/#token=abc/runs/a')
        """
        if self.is_fixed:
            # The operator knows this token; it is never printed.
            return f"{address}/#{view}" if view else address
        # Browsers send no fragment to a server, so the token reaches no access log.
        return f"{address}/#token={self.value}{view}"


def choose_token() -> AccessToken:
    """Return the token of the environment, or a new one; raise `GrevalError` if the one of the environment is weak."""
    fixed = os.environ.get(TOKEN_VARIABLE, "")
    if not fixed:
        return AccessToken(secrets.token_urlsafe(TOKEN_BYTES))
    if not FIXED_TOKEN.fullmatch(fixed):
        message = (
            f"expected 16 to 200 of a-z, A-Z, 0-9 and -_.~, got a text of {len(fixed)}; make one: openssl rand -hex 24"
        )
        raise GrevalError(f"{TOKEN_VARIABLE}: {message}")
    return AccessToken(fixed, is_fixed=True)
