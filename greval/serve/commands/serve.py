"""`greval serve`: start the HTTP server with its limits and the judges that clients may choose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from greval.cli.help_layout import judge_option, limit_option, server_option
from greval.cli.judge_options import JudgeOptions
from greval.cli.options import Only, expand_groups
from greval.errors import GrevalError
from greval.judging.model.judge import Judge
from greval.serve.quotas import parse_quota
from greval.serve.settings import MEGABYTE, ServerLimits, ServerSettings

DEFAULTS = ServerLimits()
SETTINGS = Only(["base_url", "temperature", "judge_options", "timeout", "structured", "reason", "max_retries"])


def _limit(name: str, help: str, metavar: str = "N", unit: int = 1) -> Any:  # noqa: A002, ANN401 - typer's word and type
    """Create the option of a limit, which an environment variable sets too."""
    flag, variable = f"--{name.replace('_', '-')}", f"GREVAL_{name.upper()}"
    return limit_option(flag, envvar=variable, metavar=metavar, min=1, help=help, callback=lambda count: count * unit)


def _megabytes(name: str, help: str) -> Any:  # noqa: A002, ANN401 - as above
    return _limit(name, help, "MB", MEGABYTE)


class LimitOptions(NamedTuple):
    """The limits of the server, by the names of `ServerLimits`."""

    calls: Annotated[int, _limit("calls", "the maximum number of concurrent calls, for all clients")] = DEFAULTS.calls
    waiting: Annotated[int, _limit("waiting", "the maximum number of requests that wait for a call")] = DEFAULTS.waiting
    rate: Annotated[int, _limit("rate", "the maximum number of requests of one key per minute")] = DEFAULTS.rate
    seconds: Annotated[int, _limit("request_timeout", "the timeout of one request", "SECONDS")] = int(DEFAULTS.seconds)
    patience: Annotated[
        int, _limit("patience", "the maximum time without sent or received data within a request", "SECONDS")
    ] = int(DEFAULTS.patience)
    body: Annotated[int, _megabytes("max_body", "the maximum size of a request's body")] = DEFAULTS.body // MEGABYTE
    upload: Annotated[int, _megabytes("max_upload", "the maximum size of a data set")] = DEFAULTS.upload // MEGABYTE
    held: Annotated[int, _megabytes("max_held", "the maximum size of all bodies in memory")] = DEFAULTS.held // MEGABYTE
    run_memory: Annotated[int, _megabytes("run_memory", "the maximum memory of one run")] = (
        DEFAULTS.run_memory // MEGABYTE
    )
    batch: Annotated[int, _limit("max_batch", "the maximum number of cases in a request")] = DEFAULTS.batch
    items: Annotated[int, _limit("max_items", "the maximum number of chunks or triples in a case")] = DEFAULTS.items
    text: Annotated[int, _limit("max_text", "the maximum number of characters in a text")] = DEFAULTS.text
    depth: Annotated[int, _limit("max_depth", "the maximum nesting depth of JSON")] = DEFAULTS.depth
    worker_memory: Annotated[
        int, _megabytes("worker_memory", "the maximum memory to read a file or to compute a report")
    ] = DEFAULTS.worker_memory // MEGABYTE
    worker_seconds: Annotated[
        int, _limit("worker_seconds", "the maximum CPU time to read a file or to compute a report", "SECONDS")
    ] = DEFAULTS.worker_seconds


@expand_groups
def serve(  # noqa: PLR0913 - the options of a command
    *,
    host: Annotated[
        str, server_option(envvar="GREVAL_HOST", metavar="HOST", help="the address to listen on")
    ] = "127.0.0.1",
    port: Annotated[
        int,
        server_option(
            envvar="GREVAL_PORT", min=0, max=65535, metavar="PORT", help="the port to listen on; 0 takes a free one"
        ),
    ] = 8000,
    judge: Annotated[
        list[str] | None,
        judge_option(
            envvar="GREVAL_JUDGE",
            metavar="[NAME=]MODEL",
            help="a judge that clients may choose, repeatable; the first is the default",
        ),
    ] = None,
    settings: Annotated[JudgeOptions, SETTINGS],
    library: Annotated[
        list[Path] | None,
        server_option(envvar="GREVAL_LIBRARY", metavar="DIR", help="a folder of metric files; repeatable"),
    ] = None,
    metric: Annotated[
        list[str] | None,
        server_option(
            "--metric",
            "-m",
            metavar="METRIC",
            help="a file, a folder or FILE.py:NAME with metrics of your own, also in Python; repeatable",
        ),
    ] = None,
    runs: Annotated[
        Path, server_option(envvar="GREVAL_RUNS", metavar="DIR", help="the folder of runs and data sets")
    ] = Path("runs"),
    keys: Annotated[
        Path | None,
        server_option(envvar="GREVAL_KEYS", metavar="FILE", help="the file of API keys, made by greval keys add"),
    ] = None,
    no_token: Annotated[
        bool,
        server_option(
            "--no-token",
            help="without keys: serve every program on this machine, also those that do not send the printed token; "
            "GREVAL_TOKEN sets a fixed token",
        ),
    ] = False,
    argilla_workspace: Annotated[
        list[str] | None,
        server_option(
            metavar="[TENANT=]WORKSPACE",
            help="the workspace in Argilla of a tenant, by default that of its name, or of a server without keys; "
            "repeatable",
        ),
    ] = None,
    cors_origin: Annotated[
        list[str] | None,
        server_option(
            envvar="GREVAL_CORS_ORIGIN",
            metavar="ORIGIN",
            help="an origin whose pages may use the server, such as https://app.example; repeatable. Without keys, "
            "those of this machine only",
        ),
    ] = None,
    workers: Annotated[int, _limit("workers", "the number of server processes")] = 1,
    quota: Annotated[
        list[str] | None,
        limit_option(
            envvar="GREVAL_QUOTA",
            metavar="[TENANT:]NAME=N",
            help="what each key, or this one, may use: calls, tokens, cost (with /day or /month), disk, datasets, "
            "runs; repeatable",
        ),
    ] = None,
    limits: LimitOptions,
) -> None:
    """Serve metrics over HTTP: REST and a web page. Without keys, for this machine only.

    If LangServe is installed (the extra langserve), each metric is a LangServe runnable too.
    """
    from greval.serve.start import choose_token, parse_origins, run_server

    token = None if keys or no_token else choose_token()
    run_server(
        ServerSettings(
            host=host,
            port=port,
            judges=_parse_judges(judge or (), settings),
            library=tuple(library or ()),
            metrics=tuple(metric or ()),
            runs=runs,
            keys=keys,
            token=token and token.value,
            argilla_workspaces=_parse_workspaces(argilla_workspace or (), keyed=keys is not None),
            cors_origins=parse_origins(cors_origin or ()),
            workers=workers,
            limits=ServerLimits(**limits._asdict()),
            quotas=tuple(map(parse_quota, quota or ())),
        ),
        announce=lambda address: typer.echo(token.format_link(address) if token else address),
    )


def _parse_workspaces(texts: list[str] | tuple[str, ...], *, keyed: bool) -> dict[str, str]:
    """Parse the workspaces by tenants. Without keys there is one tenant, which is not named."""
    workspaces: dict[str, str] = {}
    for text in texts:
        tenant, _, workspace = text.rpartition("=")
        if not workspace or bool(tenant) != keyed or tenant in workspaces:
            expected = "TENANT=WORKSPACE, once for a tenant" if keyed else "one WORKSPACE, because there are no keys"
            raise GrevalError(f"--argilla-workspace {text}: expected {expected}")
        workspaces[tenant] = workspace
    return workspaces


def _parse_judges(names: list[str] | tuple[str, ...], settings: JudgeOptions) -> dict[str, Judge]:
    """Parse the judges by the names that clients use: the text before `=`, else the model name."""
    judges: dict[str, Judge] = {}
    for text in names:
        name, sign, model = text.partition("=")
        model = model if sign else name
        if name in judges:
            raise GrevalError(f"--judge {text}: another judge has this name; write NAME=MODEL with a name of its own")
        # The embedded model has an address of its own, which --base-url must not replace.
        local = model.partition(":")[0] == "local"
        judges[name] = (settings._replace(base_url=None) if local else settings).create_judge(model)
    return judges
