"""Serve a GGUF model inside this process, on an OpenAI-compatible port of 127.0.0.1."""

from __future__ import annotations

import atexit
import ctypes
import importlib
import os
import secrets
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from greval.errors import JudgeUnavailableError, MissingExtraError
from greval.judging.local.cache import cached_path, model_path
from greval.judging.local.fetch import OTHER_WAYS, fetch
from greval.judging.local.models import DEFAULT_MODEL, MODELS, LocalModel, find_model

if TYPE_CHECKING:
    from types import ModuleType

MODEL_VARIABLE = "GREVAL_LOCAL_MODEL"
"""Names a GGUF file of one's own in the place of the default model."""

DEFAULT_CONTEXT = 8192
"""Tokens: ten passages are some 3000, and twice 4096 costs no time and 0.05-0.1 GB."""

_PROMPT_CACHE_MIB = 256
_SILENT = -1
_MAGIC = b"GGUF"
_LOCK = threading.Lock()
_STRONGER = (
    "A stronger judge: --judge openai:NAME, with --base-url URL for a server of your"
    " own, or --judge local:/path/to/model.gguf."
)


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A model that answers on a port of this machine until the process ends.

    Args:
        base_url: What an OpenAI client takes: `http://127.0.0.1:PORT/v1`.
        api_key: Random for each process, so that others on the machine are refused.
        model: The name under which the server knows the model.
        path: The GGUF file.
        context: The most tokens that prompt and answer may have together.
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
    """Start the embedded model, once in a process for each file.

    Args:
        name_or_path: A key of `MODELS`, or the path of a GGUF file; `local` and
            `local:...` before either are understood. None is `$GREVAL_LOCAL_MODEL` if
            that is set, else the default model.
        fetch_missing: Download the model if it is not here; else that is an error.
        context: Tokens that prompt and answer may have together; decided by the call
            that starts the model.

    Returns:
        The handle; later calls for the same file, from any thread, give the same one.

    Raises:
        JudgeUnavailableError: The model is not known, not here, or cannot be loaded.
        MissingExtraError: The package that runs models is not installed.

    Example:
        >>> from greval.judging.local import serve
        >>> serve("smollm2-135m").base_url  # doctest: +SKIP
        'http://127.0.0.1:43111/v1'
    """
    name, path = _resolve(name_or_path, fetch_missing=fetch_missing)
    with _LOCK:
        if path not in _RUNNING:
            _RUNNING[path] = _start(name, path, context)
        return _RUNNING[path]


def check_model(name_or_path: str | Path | None = None) -> None:
    """Raise if the embedded model could not be started; it is looked for and not loaded.

    Args:
        name_or_path: As for `serve`.

    Raises:
        JudgeUnavailableError: If the model is not known or not here.
        MissingExtraError: If the package that runs models is not installed.
    """
    _resolve(name_or_path, fetch_missing=False)
    _library()


def describe(model: LocalServer | LocalModel | str) -> str:
    """Say what an embedded model is and how to name a stronger one.

    Args:
        model: A handle, a `LocalModel`, or a key of `MODELS`.

    Returns:
        A few sentences for people.

    Raises:
        JudgeUnavailableError: No model has that name.

    Example:
        >>> print(describe("smollm2-135m").splitlines()[0])
        The judge is smollm2-135m (0.10 GB, Apache-2.0), on this machine's CPU.
    """
    if isinstance(model, LocalServer):
        known = MODELS.get(model.model)
        if known is None or model.path != model_path(known).resolve():
            size = model.path.stat().st_size / 1e9
            return (
                f"The judge is {model.path}, a model file of your own ({size:.2f} GB),"
                f" on this machine's CPU.\n{_STRONGER}"
            )
    else:
        known = find_model(model)
    return (
        f"The judge is {known.name} ({known.size / 1e9:.2f} GB, {known.licence}),"
        " on this machine's CPU.\n"
        "It is small and meant for trying greval out: check its verdicts before you"
        f" rely on them.\n{known.note}\n{_STRONGER}"
    )


def _resolve(name_or_path: str | Path | None, *, fetch_missing: bool) -> tuple[str, Path]:
    """Give the name and the file that a user's words mean."""
    wanted = name_or_path
    if isinstance(wanted, str):
        wanted = wanted.removeprefix("local:") if wanted != "local" else None
    if not wanted:
        own = os.environ.get(MODEL_VARIABLE)
        wanted = Path(own) if own else DEFAULT_MODEL
    if isinstance(wanted, Path) or os.sep in wanted or wanted.endswith(".gguf"):
        return _own_file(Path(wanted).expanduser())
    model = find_model(wanted)
    path = fetch(model) if fetch_missing else cached_path(model)
    if path is None:
        message = (
            f"{model.name} is not on this machine, or its file is damaged. Run once:"
            f" greval local fetch {model.name} ({model.download / 1e9:.2f} GB)."
            f"\n{OTHER_WAYS}"
        )
        raise JudgeUnavailableError(message)
    return model.name, path.resolve()


def _own_file(path: Path) -> tuple[str, Path]:
    """Check a user's file as far as that is quick: the loader tells no reasons."""
    try:
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        message = f"model file {path}: {error.strerror}"
        raise JudgeUnavailableError(message) from error
    if magic != _MAGIC:
        message = f"model file {path}: not a GGUF file (it starts with {magic!r})"
        raise JudgeUnavailableError(message)
    return path.stem, path.resolve()


def _start(name: str, path: Path, context: int) -> LocalServer:
    library = _library()
    key = secrets.token_urlsafe(24)
    params = _params(library, path, context)
    params.model_alias = {name}
    params.api_keys = [key]
    try:
        server = library.Server(params)
    except RuntimeError as error:
        message = (
            f"{path} could not be loaded: damaged, of a kind that this llama.cpp does"
            f" not know, or too large for the memory ({error})"
        )
        raise JudgeUnavailableError(message) from error
    _never_destroy(server)
    return LocalServer(
        base_url=f"{server.listening_address}/v1",
        api_key=key,
        model=name,
        path=path,
        context=context,
    )


def _library() -> ModuleType:
    # The OpenMP library reads this once, when it is loaded. With its default, waiting
    # threads spin and a busy machine becomes ten times slower.
    os.environ.setdefault("GOMP_SPINCOUNT", "1000")
    try:
        return importlib.import_module("xllamacpp")
    except ModuleNotFoundError as error:
        extra, package = "local", "xllamacpp"
        raise MissingExtraError(extra, package) from error
    except ImportError as error:
        message = (
            f"xllamacpp is installed but cannot be loaded: {error}"
            " (on Debian and Ubuntu libgomp.so.1 is in the package libgomp1)"
        )
        raise JudgeUnavailableError(message) from error


def _params(library: ModuleType, path: Path, context: int) -> Any:  # noqa: ANN401 - it has no types
    params = library.CommonParams()
    params.model.path = str(path)
    params.hostnames = ["127.0.0.1"]
    params.ui = False
    params.endpoint_slots = False
    params.verbosity = _SILENT
    params.n_ctx = context
    # Slots share no prefix cache; one slot queues its callers.
    params.n_parallel = 1
    # Prompts set aside while the metrics of a run take turns (some 9000 tokens of the
    # default model); the runtime's own limit is 8 GiB.
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    # Repacked weights would take the model's size in memory once more.
    params.no_extra_bufts = True
    # Fitting loads the model's header twice, for a GPU's sake.
    params.fit_params = False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = usable_cores()
    return params


def usable_cores(quota_file: Path = Path("/sys/fs/cgroup/cpu.max")) -> int:
    """Give the cores this process may use, a container's quota included.

    Args:
        quota_file: Where Linux tells the quota.

    Returns:
        At least 1.
    """
    try:
        cores = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        cores = os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text("utf-8").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no such file, or "max": no quota
        return cores


def _never_destroy(server: object) -> None:
    """Keep the server until the process is gone, and end the process before it crashes.

    Its destructor can wait for ever (for a client of this very process, or for a loop
    that has not started yet), and C's own clean-up at exit pulls the ground from under
    a model that is still answering: a segmentation fault in place of the exit code.
    """
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))
    if not _RUNNING:
        atexit.register(_exit_at_once)


def _exit_at_once() -> None:
    """Let C leave with the exit code as soon as Python is through with its own end."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "on_exit"):  # glibc only
        libc.on_exit(ctypes.cast(libc._exit, ctypes.c_void_p), None)  # noqa: SLF001
