"""An OpenAI-compatible server for a GGUF model, inside this process, on 127.0.0.1."""

from __future__ import annotations

import atexit
import ctypes
import importlib
import json
import logging
import os
import secrets
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greval.errors import JudgeUnavailableError, MissingExtraError
from greval.judging.local.cache import cached_path, model_path
from greval.judging.local.fetch import ALTERNATIVES_HINT, FetchProgress, fetch
from greval.judging.local.models import DEFAULT_MODEL, HUB_PREFIX, MODELS, find_model

if TYPE_CHECKING:
    from types import ModuleType

MODEL_VARIABLE = "GREVAL_LOCAL_MODEL"
"""The environment variable that names a GGUF file to use instead of the default model."""

SHARED_VARIABLE = "GREVAL_LOCAL_SERVERS"
"""The environment variable that names the models that the parent process serves, as JSON."""

DEFAULT_CONTEXT = 8192
"""Context size in tokens. Ten passages take about 3000; doubling 4096 costs no time and 0.05-0.1 GB of memory."""

_PROMPT_CACHE_MIB = 256
_SILENT = -1
_MAGIC = b"GGUF"
_LOCK = threading.Lock()
_LOG = logging.getLogger("greval")
_STRONGER_JUDGE_HINT = (
    "A stronger judge: --judge openai:NAME, with --base-url URL for a server of your"
    " own, or --judge local:/path/to/model.gguf."
)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model that is served on a port of this machine until the process ends.

    `api_key` refuses other users of the machine. `context` is the most tokens of prompt and answer together.
    """

    base_url: str
    api_key: str = field(repr=False)
    model: str
    path: Path
    context: int


_RUNNING: dict[Path, LocalServer] = {}


def serve(
    name_or_path: str | Path | None = None,
    *,
    fetch_missing: bool = False,
    context: int = DEFAULT_CONTEXT,
) -> LocalServer:
    """Start the embedded model, once per process and file.

    `name_or_path` is a key of `MODELS`, the path of a GGUF file, or `hf:OWNER/REPO/FILE.gguf`, a file of the Hugging
    Face hub that is fetched once; each with or without the prefix `local:`. None and `local` mean
    `$GREVAL_LOCAL_MODEL` if it is set, else the default model. Only the first call sets `context`.
    """
    name, path = _resolve_model(name_or_path, fetch_missing=fetch_missing)
    with _LOCK:
        if path not in _RUNNING:
            _RUNNING[path] = _find_shared_server(path) or _start_server(name, path, context)
        return _RUNNING[path]


def share_servers() -> Mapping[str, str]:
    """Return the environment variable with which a child process uses the models of this process; empty without any."""
    with _LOCK:
        servers = [{**asdict(server), "path": str(server.path)} for server in _RUNNING.values()]
    return {SHARED_VARIABLE: json.dumps(servers)} if servers else {}


def check_model(name_or_path: str | Path | None = None) -> None:
    """Raise an error if the embedded model, named as for `serve`, could not be started. It is not loaded."""
    _resolve_model(name_or_path, fetch_missing=False)
    _import_xllamacpp()


def describe(server: LocalServer) -> str:
    """Describe an embedded model for users, and how to name a stronger one."""
    model = MODELS.get(server.model)
    if model is None or server.path != model_path(model).resolve():
        size = server.path.stat().st_size / 1e9
        what = f"{server.path}, a model file of your own ({size:.2f} GB), on this machine's CPU."
    else:
        what = (
            f"{model.name} ({model.size / 1e9:.2f} GB, {model.licence}), on this machine's CPU.\n"
            "It is small and meant for trying greval out: check its verdicts before you rely on them. "
            "greval local list describes its origin."
        )
    return f"The judge is {what}\n{_STRONGER_JUDGE_HINT}"


def _resolve_model(name_or_path: str | Path | None, *, fetch_missing: bool) -> tuple[str, Path]:
    """Resolve a name or path, as entered by a user, to the name and the file of a model."""
    requested = name_or_path
    if isinstance(requested, str):
        requested = requested.removeprefix("local:") if requested != "local" else None
    if not requested:
        model_file = os.environ.get(MODEL_VARIABLE)
        requested = Path(model_file) if model_file else DEFAULT_MODEL
    if isinstance(requested, str) and requested.startswith(HUB_PREFIX):
        # Before the model is fetched: without this package it is of no use.
        _import_xllamacpp()
        return _check_own_file(fetch(requested, on_progress=_log_notes))
    if isinstance(requested, Path) or os.sep in requested or requested.endswith(".gguf"):
        return _check_own_file(Path(requested).expanduser())
    model = find_model(requested)
    path = cached_path(model)
    if path is None:
        _import_xllamacpp()
        path = fetch(model) if fetch_missing else None
    if path is None:
        raise JudgeUnavailableError(
            f"{model.name} is not on this machine, or its file is damaged. Run once: greval local fetch {model.name} "
            f"({model.download / 1e9:.2f} GB).\n{ALTERNATIVES_HINT}"
        )
    return model.name, path.resolve()


def _log_notes(progress: FetchProgress) -> None:
    if progress.note:
        _LOG.warning("%s: %s", progress.model, progress.note)


def _check_own_file(path: Path) -> tuple[str, Path]:
    """Check that a user's file is a GGUF file, because the loader's errors give no reason."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise JudgeUnavailableError(f"model file {path}: {error.strerror}") from error
    if magic != _MAGIC:
        raise JudgeUnavailableError(f"model file {path}: not a GGUF file (it starts with {magic!r})")
    return path.stem, path.resolve()


def _find_shared_server(path: Path) -> LocalServer | None:
    """Return the server of a model file in the parent process, or None if the parent shares none."""
    for shared in json.loads(os.environ.get(SHARED_VARIABLE, "[]")):
        if Path(shared["path"]) == path:
            return LocalServer(**{**shared, "path": path})
    return None


def _start_server(name: str, path: Path, context: int) -> LocalServer:
    library = _import_xllamacpp()
    key = secrets.token_urlsafe(24)
    params = build_params(library, path, context)
    params.model_alias = {name}
    params.api_keys = [key]
    try:
        server = library.Server(params)
    except RuntimeError as error:
        raise JudgeUnavailableError(
            f"{path} could not be loaded: damaged, of a kind that this llama.cpp does"
            f" not know, or too large for the memory ({error})"
        ) from error
    _keep_until_exit(server)
    return LocalServer(
        base_url=f"{server.listening_address}/v1",
        api_key=key,
        model=name,
        path=path,
        context=context,
    )


def _import_xllamacpp() -> ModuleType:
    # The OpenMP library reads this variable once, when it is loaded. With its default, waiting
    # threads spin, which makes a busy machine ten times slower.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        return importlib.import_module("xllamacpp")
    except ModuleNotFoundError as error:
        extra, package = "local", "xllamacpp"
        raise MissingExtraError(extra, package) from error
    except ImportError as error:
        raise JudgeUnavailableError(
            f"xllamacpp is installed but cannot be loaded: {error}"
            " (on Debian and Ubuntu libgomp.so.1 is in the package libgomp1)"
        ) from error


def build_params(library: ModuleType, path: Path, context: int) -> Any:  # noqa: ANN401 - it has no types
    """Build the settings with which xllamacpp serves a model file; `context` is the length of its context in tokens."""
    params = library.CommonParams()
    params.model.path = str(path)
    params.hostnames = ["127.0.0.1"]
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = _SILENT
    params.n_ctx = context
    # Slots do not share a prefix cache. With one slot, concurrent calls are queued.
    params.n_parallel = 1
    # The cache of prompt prefixes, for runs that alternate between metrics (about 9000
    # tokens of the default model). The runtime's own limit is 8 GiB.
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    # Repacked weights would double the memory of the model.
    params.no_extra_bufts = True
    # Fitting the parameters to a GPU would load the model's header twice.
    params.fit_params = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = count_usable_cores()
    return params


def count_usable_cores(quota_file: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Count the CPU cores, at least 1, that this process may use, limited by the quota of a container (cgroup v2)."""
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        cores = os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text("utf-8").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or "max": no quota
        return cores


def _keep_until_exit(server: object) -> None:
    """Keep the server object alive until the process has exited."""
    # The destructor can block forever: on a client in the same process, or on a loop that has not started yet.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    # The C library's cleanup at exit destroys state that a model still answering uses, which ends in a segmentation
    # fault instead of the exit code.
    if not _RUNNING:
        atexit.register(_exit_at_once)


def _exit_at_once() -> None:
    """Make the C library skip its cleanup and exit with the exit code when Python has finished its own."""
    libc = ctypes.CDLL(None)
    # Only glibc has it.
    if hasattr(libc, "on_exit"):
        libc.on_exit(ctypes.cast(libc["_exit"], ctypes.c_void_p), None)
