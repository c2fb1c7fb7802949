"""Settings of the server: what the operator decides, never what a client sends."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from greval.judging.model.judge import Judge
from greval.records.record import Record
from greval.serve.quotas import Quota

LOCAL_HOSTS = frozenset({"127.0.0.1", "::1", "localhost"})
MEGABYTE = 1024 * 1024

KeyScope = Literal["read", "judge", "scrape"]
"""What a key may do: read, judge and change, and read the counters of all tenants."""
DEFAULT_SCOPES: tuple[KeyScope, ...] = ("read", "judge")

Positive = Annotated[int, Field(gt=0)]
CorsOrigin = Annotated[str, Field(pattern=r"^https?://[^/*\s]+$")]


class ServerLimits(Record):
    """Limits of one request and of all requests together; sizes are in bytes, times in seconds.

    `greval serve --help` says what each is. `patience` is also the time that the head of a request may take.
    """

    body: Positive = 8 * MEGABYTE
    upload: Positive = 256 * MEGABYTE
    batch: Positive = 100
    items: Positive = 500
    text: Positive = 200_000
    depth: Positive = 32
    calls: Positive = 32
    waiting: Positive = 256
    seconds: Annotated[float, Field(gt=0)] = 300.0
    rate: Positive = 600
    patience: Annotated[float, Field(gt=0)] = 20.0
    held: Positive = 128 * MEGABYTE
    worker_memory: Positive = 1024 * MEGABYTE
    worker_seconds: Positive = 60
    run_memory: Positive = 2048 * MEGABYTE


class ServerSettings(Record):
    """Settings of the server.

    `judges` are those that clients may name, the first is the default; `library` holds folders of metric files in
    addition to the predefined metrics, and `metrics` names further ones as after `-m`, also in Python; `runs` is the
    folder of run folders, the same as on the command line; `keys` is the file of
    hashed API keys, without which only this machine is served; then `token` is what each request must send, None if
    every program on this machine may use the server. `argilla_workspaces` holds workspaces by tenants, for those whose
    workspace in Argilla does not have their name; the tenant of a server without keys is the empty text.
    Pages of `cors_origins` may use the server from browsers.

    Example:
        >>> ServerSettings(judges={"fast": Judge("openai:gpt-5.1-mini")}).host
        '127.0.0.1'
    """

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    judges: dict[str, Judge] = Field(default_factory=dict)
    library: tuple[Path, ...] = ()
    metrics: tuple[str, ...] = ()
    runs: Path = Path("runs")
    keys: Path | None = None
    token: str | None = Field(default=None, repr=False)
    argilla_workspaces: dict[str, str] = Field(default_factory=dict)
    cors_origins: tuple[CorsOrigin, ...] = ()
    workers: Positive = 1
    limits: ServerLimits = ServerLimits()
    quotas: tuple[Quota, ...] = ()

    @property
    def local(self) -> bool:
        """Return whether the server accepts connections from this machine only."""
        return self.host in LOCAL_HOSTS
