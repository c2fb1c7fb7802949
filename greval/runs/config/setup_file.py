"""The settings that the responses were made with, stored beside them, so that a folder never mixes methods."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel

from greval.errors import DataError, StoreError
from greval.judging.model.judge import Judge
from greval.methods.loading import resolve_spec
from greval.runs.config.group_methods import GroupIndex, build_search_spec
from greval.runs.config.model import GenerationConfig
from greval.runs.config.plan import RunPlan
from greval.runs.config.result_files import write_json

SETUP_FILE = "setup.json"
ANSWERING_FIELDS = ("model", "temperature", "seed", "base_url", "max_tokens")
"""The settings of the answering model that affect a response."""
HOW_TO_CONTINUE = "Give the method another name, or the run another folder (-o); --no-resume begins a new run"

Settings = dict[str, Any]


def check_setup(plan: RunPlan) -> None:
    """Check that the responses in the folder were made with the settings of this evaluation."""
    file = plan.folder / SETUP_FILE
    stored = _read_setup(file)
    if stored and (changes := "; ".join(_describe_changes(stored, dump_settings(plan), plan))):
        message = f"{file}: the responses there are not of this run: {changes}"
        raise StoreError(f"{message}. {HOW_TO_CONTINUE}")


def write_setup(plan: RunPlan) -> None:
    """Store the settings of this evaluation. Those of methods and groups that are not in it stay as they are."""
    file = plan.folder / SETUP_FILE
    stored, now = _read_setup(file), dump_settings(plan)
    groups = {*plan.group_samples()}
    methods = {name: now["methods"][name] for name in plan.methods}
    merged = {
        "methods": {**stored.get("methods", {}), **methods},
        **{
            part: stored.get(part, {}) | {group: value for group, value in now[part].items() if group in groups}
            for part in ("indexes", "contents")
        },
    }
    for name, specs in methods.items():
        if isinstance(specs, dict):
            old = stored.get("methods", {}).get(name)
            earlier = old if isinstance(old, dict) else {}
            merged["methods"][name] = earlier | {group: spec for group, spec in specs.items() if group in groups}
    # A run without searches of an index has no answering model, and keeps the stored one.
    answering = now["answering"] or stored.get("answering")
    write_json(file, {**merged, "generation": now["generation"], "answering": answering})


def dump_settings(plan: RunPlan) -> Settings:
    """Return the settings that affect a response, as JSON.

    They are the specs of the methods (of each group, if a method has none of its own), the folders of the indexes, the
    digests of the indexes that the reference pipeline can search, and the answering models.
    """
    config = plan.config
    return {
        "methods": {
            name: resolve_spec(spec, Path.cwd()) if spec else _dump_search(name, plan.indexes)
            for name, spec in (config.methods or {}).items()
        },
        "indexes": {group: str(index.root) for group, index in plan.indexes.items()},
        "contents": {group: digest for group, index in plan.indexes.items() if (digest := index.compute_digest())},
        "generation": _dump_generation(config.generation) if config.generation else None,
        "answering": _dump_model(plan.answering) if plan.answering else None,
    }


def _dump_search(name: str, indexes: Mapping[str, GroupIndex]) -> dict[str, str]:
    """Return the spec that a method without one means for each group; groups without such a search are left out."""
    specs: dict[str, str] = {}
    for group, index in indexes.items():
        try:
            specs[group] = build_search_spec(name, index)
        except DataError:
            # It is reported if the group is evaluated.
            continue
    return specs


def _dump_generation(generation: GenerationConfig) -> Settings:
    facts = Path(generation.facts).resolve() if generation.facts else None
    return {**generation.model_dump(mode="json"), "facts": facts and str(facts)}


def _dump_model(model: Judge | BaseChatModel) -> Settings:
    if isinstance(model, Judge):
        settings = model.model_dump(mode="json", include={*ANSWERING_FIELDS})
        return {name: settings[name] for name in ANSWERING_FIELDS if settings[name] is not None}
    return {"model": type(model).__name__}


def _read_setup(file: Path) -> Settings:
    try:
        settings = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _describe_changes(stored: Settings, now: Settings, plan: RunPlan) -> Iterator[str]:
    """Describe the settings, within this evaluation, that changed since the responses were collected."""
    groups = [*plan.group_samples()]
    if stored.get("generation") != now["generation"]:
        yield "generation has changed"
    old, new = stored.get("answering"), now["answering"]
    if old and new and old != new:
        yield f"answering: the model was {_format_model(old)} and is {_format_model(new)}"
    for name in plan.methods:
        yield from dict.fromkeys(_describe_spec_changes(name, stored, now, groups or [""]))
    for group in groups:
        old, new = stored.get("indexes", {}).get(group), now["indexes"].get(group)
        if old is not None and old != new:
            yield f"indexes: {group} was {old} and is {new}"
    searched = {group for group, _ in plan.searched}
    for group in groups:
        old, new = stored.get("contents", {}).get(group), now["contents"].get(group)
        if old and old != new and group in searched:
            yield f"indexes: the index of {group} has changed"


def _describe_spec_changes(name: str, stored: Settings, now: Settings, groups: list[str]) -> Iterator[str]:
    """Describe how the spec of a method changed, for groups if it has none of its own."""
    old, new = stored.get("methods", {}).get(name), now["methods"].get(name)
    for group in groups:
        old_spec, new_spec = (spec.get(group) if isinstance(spec, dict) else spec for spec in (old, new))
        if old_spec is not None and old_spec != new_spec:
            yield f"methods: {name} was {old_spec} and is {new_spec}"


def _format_model(settings: Settings) -> str:
    more = ", ".join(f"{name} {value}" for name, value in settings.items() if name != "model")
    return f"{settings['model']} ({more})" if more else str(settings["model"])
