"""`greval serve`: start the HTTP server with its limits and the judges that clients may choose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from greval.cli.options import AnswerForm, BaseUrl, MaxRetries, ReasonPlace, Temperature, Timeout, require_judge
from greval.errors import GrevalError
from greval.judging.model.judge import Judge
from greval.serve.settings import MEGABYTE, ServerLimits, ServerSettings

USAGE_ERROR = 2
DEFAULTS = ServerLimits()


def _create_limit_option(variable: str, flag: str, help: str, metavar: str = "N") -> Any:  # noqa: A002, ANN401 - typer's word and type
    """Create the option for a limit, which an environment variable can also set."""
    return typer.Option(flag, envvar=f"GREVAL_{variable}", metavar=metavar, min=1, help=help)


def serve(  # noqa: PLR0913 - the options of a command
    *,
    host: Annotated[str, typer.Option(envvar="GREVAL_HOST", help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(envvar="GREVAL_PORT", min=0, max=65535, help="0 takes a free one")] = 8000,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            envvar="GREVAL_JUDGE",
            metavar="[NAME=]MODEL",
            help="a judge that clients may choose, the first is the default; may be given often",
        ),
    ] = None,
    base_url: BaseUrl = None,
    temperature: Temperature = 0.0,
    timeout: Timeout = 60.0,
    structured: AnswerForm = "auto",
    reason: ReasonPlace = "before",
    max_retries: MaxRetries = 6,
    library: Annotated[
        list[Path] | None,
        typer.Option(envvar="GREVAL_LIBRARY", metavar="DIR", help="a folder of metric files; may be given often"),
    ] = None,
    runs: Annotated[
        Path, typer.Option(envvar="GREVAL_RUNS", metavar="DIR", help="the folder of runs and data sets")
    ] = Path("runs"),
    keys: Annotated[
        Path | None,
        typer.Option(envvar="GREVAL_KEYS", metavar="FILE", help="the file of API keys, made by greval keys add"),
    ] = None,
    workers: Annotated[int, _create_limit_option("WORKERS", "--workers", "how many processes serve")] = 1,
    calls: Annotated[
        int, _create_limit_option("CALLS", "--calls", "the judge's calls in flight, of all clients")
    ] = DEFAULTS.calls,
    waiting: Annotated[
        int, _create_limit_option("WAITING", "--waiting", "the requests that may wait for them")
    ] = DEFAULTS.waiting,
    rate: Annotated[int, _create_limit_option("RATE", "--rate", "the requests of one key a minute")] = DEFAULTS.rate,
    request_timeout: Annotated[
        int, _create_limit_option("REQUEST_TIMEOUT", "--request-timeout", "how long one request may take", "SECONDS")
    ] = int(DEFAULTS.seconds),
    patience: Annotated[
        int,
        _create_limit_option(
            "PATIENCE", "--patience", "how long a client may send or read nothing within a request", "SECONDS"
        ),
    ] = int(DEFAULTS.patience),
    max_body: Annotated[int, _create_limit_option("MAX_BODY", "--max-body", "the largest body of a request", "MB")] = (
        DEFAULTS.body // MEGABYTE
    ),
    max_upload: Annotated[int, _create_limit_option("MAX_UPLOAD", "--max-upload", "the largest data set", "MB")] = (
        DEFAULTS.upload // MEGABYTE
    ),
    max_held: Annotated[int, _create_limit_option("MAX_HELD", "--max-held", "the bodies in memory at once", "MB")] = (
        DEFAULTS.held // MEGABYTE
    ),
    max_batch: Annotated[
        int, _create_limit_option("MAX_BATCH", "--max-batch", "the cases of one request")
    ] = DEFAULTS.batch,
    max_items: Annotated[
        int, _create_limit_option("MAX_ITEMS", "--max-items", "the chunks or triples of one case")
    ] = DEFAULTS.items,
    max_text: Annotated[int, _create_limit_option("MAX_TEXT", "--max-text", "the letters of one text")] = DEFAULTS.text,
    max_depth: Annotated[
        int, _create_limit_option("MAX_DEPTH", "--max-depth", "how deep JSON may be nested")
    ] = DEFAULTS.depth,
) -> None:
    """Serve metrics over HTTP: REST, LangServe and a web page. Without keys, for this machine only."""
    from greval.serve.start import run_server

    settings = {
        "base_url": base_url,
        "temperature": temperature,
        "timeout": timeout,
        "structured": structured,
        "reason": reason,
        "max_retries": max_retries,
    }
    limits = ServerLimits(
        calls=calls,
        waiting=waiting,
        rate=rate,
        seconds=request_timeout,
        patience=patience,
        body=max_body * MEGABYTE,
        upload=max_upload * MEGABYTE,
        held=max_held * MEGABYTE,
        batch=max_batch,
        items=max_items,
        text=max_text,
        depth=max_depth,
    )
    run_server(
        ServerSettings(
            host=host,
            port=port,
            judges=_parse_judges(judge or (), settings),
            library=tuple(library or ()),
            runs=runs,
            keys=keys,
            workers=workers,
            limits=limits,
        ),
        announce=typer.echo,
    )


def _parse_judges(named: list[str] | tuple[str, ...], settings: dict[str, Any]) -> dict[str, Judge]:
    """Parse the judges by the names that clients use: the text before `=`, else the model name."""
    found: dict[str, Judge] = {}
    for text in named:
        name, is_named, model = text.partition("=")
        model = model if is_named else name
        local = model.partition(":")[0] == "local"
        if name in found:
            message = f"--judge {text}: there is one of this name already; write NAME=MODEL to tell them apart"
            raise GrevalError(message)
        found[name] = require_judge(model, **(settings | {"base_url": None} if local else settings))
    return found
