"""The schema of a graph: types of entities and relations, in a YAML or JSON file that a user writes.

```yaml
entities:
  Brand: {from_tag: brand, words: [brand, brands, manufacturer]}
  Product: {from_tag: product}
  Feature: {terms: {battery: [batteries, battery life], charging: [charger, charge]}}
relations:
  HAS_POSITIVE: {from: [Brand, Product], to: Feature, cues: [love, great], opposite: HAS_NEGATIVE, words: [praise]}
  HAS_NEGATIVE: {from: [Brand, Product], to: Feature, cues: [hate, poor], opposite: HAS_POSITIVE, words: [complaint]}
  MAKES: {from: Brand, to: Product}
```

An entity type with `from_tag` has one entity per document: the value of that tag (or of that column of a table). One
with `terms` has the entities that are listed, each by its name and its other spellings. One with neither is found by
a model only. A relation with `cues` is stated by a sentence that has a cue; a negated cue states the opposite
relation. A relation without cues is stated by every document that has an entity of both types. `words` are how a
question names a type or a relation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from greval._util.wording import did_you_mean
from greval.errors import DataError
from greval.metrics.files.validation import convert_errors
from greval.metrics.files.yaml_text import read_source_file
from greval.records.definition_faults import Path as FaultPath
from greval.records.record import Label, Record, Text


def _wrap_text(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _convert_terms(value: object) -> object:
    """Convert a list of names to names without other spellings; a name with nothing behind it has none either."""
    if isinstance(value, list | tuple) and all(isinstance(name, str) for name in value):
        return dict.fromkeys(value, ())
    if isinstance(value, Mapping):
        return {name: () if spellings is None else spellings for name, spellings in value.items()}
    return value


def _replace_nothing(value: object) -> object:
    return {} if value is None else value


Texts = Annotated[tuple[Text, ...], BeforeValidator(_wrap_text)]


class EntityType(Record):
    """A type of entities.

    A tag may hold the entity of a document. Words are those by which a question names the type, besides its own name
    and the plural of it.
    """

    from_tag: Text | None = None
    terms: Annotated[dict[Label, Texts], BeforeValidator(_convert_terms)] = Field(default_factory=dict)
    words: Texts = ()


class RelationType(Record):
    """A type of relations, from entities of some types to entities of others.

    Cues are words and phrases with which a sentence states the relation. Without any, every document states it that has
    entities of both types. A negated cue states the opposite.
    """

    # `from` is a keyword of Python.
    from_: Annotated[Texts, Field(min_length=1, alias="from")]
    to: Annotated[Texts, Field(min_length=1)]
    cues: Texts = ()
    opposite: Text | None = None
    words: Texts = ()

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)


class GraphSchema(Record):
    """The types of the entities and the relations of a graph."""

    entities: Annotated[dict[Label, Annotated[EntityType, BeforeValidator(_replace_nothing)]], Field(min_length=1)]
    relations: dict[Label, RelationType] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _check_references(self) -> Self:
        if faults := [*_find_reference_faults(self.entities, self.relations)]:
            raise ValueError("\n".join(faults))
        return self

    @cached_property
    def digest(self) -> str:
        """The digest of the content; equal schemas have equal digests."""
        content = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    @cached_property
    def spellings(self) -> dict[str, tuple[str, str]]:
        """The name and the type of the entity for each spelling of a term, in lower case."""
        return {spelling: (name, kind) for spelling, name, kind in _list_spellings(self.entities)}

    @cached_property
    def tags(self) -> dict[str, str]:
        """The type of the entities that each tag names."""
        return {entity.from_tag: kind for kind, entity in self.entities.items() if entity.from_tag}

    @cached_property
    def stated_by_cues(self) -> dict[str, RelationType]:
        """The relations that sentences state."""
        return {label: relation for label, relation in self.relations.items() if relation.cues}

    @cached_property
    def stated_by_documents(self) -> dict[str, RelationType]:
        """The relations without cues, which documents state that have entities of both types."""
        return {label: relation for label, relation in self.relations.items() if not relation.cues}


def read_schema(path: str | Path) -> GraphSchema:
    """Read a schema from a YAML or JSON file."""
    file = Path(path)
    source = read_source_file(file, "name a YAML or JSON file with entities and relations")
    faults = list(source.faults)
    schema = None
    if source.data is not None or not faults:
        content = {} if source.data is None else source.data
        try:
            schema = GraphSchema.model_validate(content)
        except ValidationError as error:
            faults += convert_errors(error.errors(include_url=False), content, source.lines, _list_keys)
    if faults or schema is None:
        each = dict.fromkeys(f"{file}:{fault}" for fault in sorted(faults, key=lambda fault: fault.line))
        raise DataError("\n".join(each))
    return schema


def _list_keys(path: FaultPath, _: Mapping[str, object]) -> list[str]:
    """List the keys that a file may have beside a key."""
    parts: Mapping[str, type[Record]] = {"entities": EntityType, "relations": RelationType}
    fields = (parts[str(path[0])] if len(path) > 1 else GraphSchema).model_fields
    return [field.alias or name for name, field in fields.items()]


def _find_reference_faults(entities: Mapping[str, EntityType], relations: Mapping[str, RelationType]) -> Iterator[str]:
    """Find types and relations that do not exist, and spellings, tags and cues with two meanings."""
    yield from _find_shared_spellings(entities)
    by_tag: dict[str, str] = {}
    for kind, entity in entities.items():
        if entity.from_tag and by_tag.setdefault(entity.from_tag, kind) != kind:
            yield f"entities.{kind}.from_tag: {by_tag[entity.from_tag]} has the tag {entity.from_tag} already"
    for label, relation in relations.items():
        for field, kinds in (("from", relation.from_), ("to", relation.to)):
            for kind in kinds:
                if kind not in entities:
                    hint = did_you_mean(kind, entities)
                    yield f"relations.{label}.{field}: no entity type is named {kind!r}{hint}"
        if relation.opposite is not None:
            yield from _find_opposite_faults(label, relation.opposite, relations)


def _find_opposite_faults(label: str, opposite: str, relations: Mapping[str, RelationType]) -> Iterator[str]:
    location = f"relations.{label}.opposite"
    if opposite not in relations:
        yield f"{location}: no relation is named {opposite!r}{did_you_mean(opposite, relations)}"
    elif opposite == label:
        yield f"{location}: a relation cannot be the opposite of itself"
    else:
        counterpart = relations[opposite]
        if counterpart.opposite not in {None, label}:
            back = counterpart.opposite
            yield f"{location}: the opposite of {opposite} is {back}; two relations must name each other"
        shared = {cue.casefold() for cue in relations[label].cues} & {cue.casefold() for cue in counterpart.cues}
        # Each pair is looked at from both sides, and reported once.
        if shared and label < opposite:
            yield f"relations.{label}.cues: {opposite} has the same cues: {', '.join(sorted(shared))}"


def _find_shared_spellings(entities: Mapping[str, EntityType]) -> Iterator[str]:
    """Find spellings that lead to two entities."""
    first: dict[str, tuple[str, str]] = {}
    for spelling, name, kind in _list_spellings(entities):
        of = first.setdefault(spelling, (name, kind))
        if of != (name, kind):
            yield f"entities.{kind}.terms.{name}: {spelling!r} is a spelling of {of[0]} ({of[1]}) already"


def _list_spellings(entities: Mapping[str, EntityType]) -> Iterator[tuple[str, str, str]]:
    """Iterate over the spellings of all terms, in lower case, each with the name and the type of its entity."""
    for kind, entity in entities.items():
        for name, spellings in entity.terms.items():
            for spelling in dict.fromkeys(text.casefold() for text in (name, *spellings)):
                yield spelling, name, kind
