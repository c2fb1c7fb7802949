"""Names of the fields of a row: greval's own names, those of other tools, dotted names, and tags of other names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf

from greval._util.wording import find_typo
from greval.datasets.conversations import (
    CONVERSATION_NAMES,
    HISTORY,
    HISTORY_NAMES,
    SplitConversation,
    read_turns,
    split_conversation,
)
from greval.records.case import (
    CLAIM_FIELDS,
    OTHER_RESPONSE,
    Case,
    Chunk,
    Claim,
    Gold,
    Response,
    ResponseUsage,
    Traversal,
    Triple,
    Turn,
)

COMMON_CHUNKS = ("passages", "paragraphs", "search_results")
"""Names of chunks under which others have the number of them."""
FIELD_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("example_id", "query_id", "question_id", "_id"),
    "question": ("user_input", "input", "inputs", "request", "vars", "question_text", "query"),
    "answer": (
        *("response", "actual_output", "outputs", "prediction", "predictions", "output", "generated_answer"),
        *("predicted_answer", "model_answer", "generated_texts", "reply", "pred", "actual_answer", "system_answer"),
        *("generated_response", "model_response", "llm_answer", "rag_answer"),
    ),
    "expected_answer": (
        *("reference", "ground_truth", "ground_truths", "expected_output", "reference_outputs", "expectations"),
        *("expected_response", "expected", "reference_answer", "gold_answer", "gold_answers", "golden_answers"),
        *("gt_answer", "correct_answer", "answers", "accepted_answers", "acceptable_answers", "possible_answers"),
        *("generation_gt", "ground_truth_answer", "ground_truth_answers", "right_answer", "ideal_answer"),
        *("target_answer", "targets", "ideal"),
    ),
    "chunks": (
        *("retrieved_contexts", "contexts", "retrieval_context", "retrieved_context", "context", "context_text"),
        *("context_data", "retriever_result", "documents", "retrieved", "retrieved_docs", "retrieved_documents"),
        *("retrieved_chunks", "retrieved_passages", "retrieved_contents", "docs", "source_documents", "source_nodes"),
        *("ctxs", *COMMON_CHUNKS),
    ),
    "claims": ("response_claims",),
    "expected_claims": ("gt_answer_claims",),
}
"""The names of case fields in other tools; if a row has several of a field, the first listed here is used.

They are those of ragas, deepeval, openevals and LangSmith, MLflow, autoevals, promptfoo, RAGChecker, BenchmarkQED,
AutoRAG, and of public data sets.
"""
FIELD_BY_NAME: Mapping[str, str] = {
    **{name: name for name in Case.model_fields},
    **{name: field_name for field_name, names in FIELD_NAMES.items() for name in names},
}
"""The field of each known name, in the order of precedence."""
OWN_FIELDS = frozenset(Case.model_fields)
SHORT_NAMES = frozenset({"retrieved", "docs", "ctxs", "reply", "pred", "targets", "ideal", *COMMON_CHUNKS})
"""Known names that other words are near to, which are no slips of them."""

SUBFIELDS: Mapping[str, tuple[str, ...]] = {
    "chunks": tuple(Chunk.model_fields),
    "triples": tuple(Triple.model_fields),
    HISTORY: tuple(Turn.model_fields),
    **dict.fromkeys(CLAIM_FIELDS, tuple(Claim.model_fields)),
    "traversal": tuple(Traversal.model_fields),
    "gold": tuple(Gold.model_fields),
    "usage": tuple(ResponseUsage.model_fields),
    OTHER_RESPONSE: tuple(Response.model_fields),
}
"""The fields of the records inside a case."""

PREFIXES: Mapping[str, str] = {
    "gold.": "gold",
    "usage.": "usage",
    "traversal.": "traversal",
    "tags.": "tags",
    "tag:": "tags",
}
"""The prefixes of dotted columns, such as `gold.essential_docs` or `tag:movie`, and the field of each."""

DOTTED_NAMES = tuple(f"{own}.{part}" for own in ("gold", "usage", "traversal", "chunks") for part in SUBFIELDS[own])
"""The names of parts; those of chunks hold a list, with the part of each chunk in order."""

TRAVERSAL_NAMES = frozenset({"traversed_edges", "final_nodes"})
"""Names that occur without a prefix only in a traversal log."""
CHUNKS = "chunks"
EXPECTED = "expected_answer"
START_NODES = "start_nodes"
"""In a traversal log the actual start nodes; elsewhere the expected ones."""
BARE_NAMES: Mapping[str, str] = {
    **dict.fromkeys(("essential_docs", "helpful_docs", "essential_repos", "expected_edges", "expected_nodes"), "gold"),
    START_NODES: "gold",
    **dict.fromkeys(TRAVERSAL_NAMES, "traversal"),
}
"""Subfields of gold and of a traversal that may occur without a prefix, and the field of each."""

SUPPORT = "supporting_facts"
"""Where HotpotQA and 2WikiMultihopQA have the titles of the passages that answer a question."""
GOLD_TEXTS = frozenset(
    {
        *("reference_contexts", "ground_truth_contexts", "gold_contexts", "golden_contexts", "expected_contexts"),
        "gold_passages",
    }
)
"""Where ragas and others have the texts of what should have been retrieved, rather than ids."""
SECONDS_BY_UNIT: Mapping[str, float] = {
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "micros", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanos", "nanoseconds"), 1e-9),
    **dict.fromkeys(("s", "sec", "secs", "seconds"), 1.0),
    **dict.fromkeys(("min", "mins", "minutes"), 60.0),
}
"""The seconds of each unit of time, by the last word of a column's name."""
LATENCY = ("usage", "latency")
TIMES = frozenset({".".join(LATENCY), "usage.waited"})
"""The parts that are in seconds."""
PART_NAMES: Mapping[str, tuple[str, str]] = {
    # Times of an unknown unit are tags.
    **{f"{time}_{unit}": LATENCY for time in ("latency", "response_time", "elapsed") for unit in SECONDS_BY_UNIT},
    **{f"chunks.{part}": ("chunks", part) for part in SUBFIELDS["chunks"]},
    **dict.fromkeys(
        (
            *("retrieved_context_ids", "retrieved_ids", "retrieved_chunk_ids", "retrieved_passage_ids"),
            *("context_ids", "chunk_ids", "passage_ids"),
        ),
        ("chunks", "id"),
    ),
    **dict.fromkeys(
        ("retrieved_doc_ids", "retrieved_document_ids", "retrieved_docids", "doc_ids", "document_ids", "docids"),
        ("chunks", "doc_id"),
    ),
    **dict.fromkeys(("retrieved_scores", "retrieval_scores", "retrieve_scores"), ("chunks", "score")),
    **dict.fromkeys(
        (
            *("reference_context_ids", "reference_ids", "reference_doc_ids", "relevant_docs", "relevant_doc_ids"),
            *("relevant_documents", "relevant_document_ids", "relevant_ids", "relevant_chunk_ids"),
            *("relevant_context_ids", "gold_ids", "gold_docs", "gold_doc_ids", "gold_context_ids", "gold_chunk_ids"),
            *("expected_docs", "expected_doc_ids", "expected_ids", "ground_truth_ids", "ground_truth_doc_ids"),
            *("ground_truth_context_ids", "golden_doc_ids", "gold_titles", "retrieval_gt"),
            *("essential", "relevant", SUPPORT, *GOLD_TEXTS),
        ),
        ("gold", "essential_docs"),
    ),
    "helpful": ("gold", "helpful_docs"),
}
"""Names of parts in other tools, and the field and the part of each."""
CHUNK_IDS = frozenset({(CHUNKS, "id"), (CHUNKS, "doc_id")})
LISTED_PARTS = frozenset({"essential", "relevant", "helpful", SUPPORT, *GOLD_TEXTS})
"""Those that are parts only if they hold several documents: otherwise they are properties or texts of the row."""

ID_NAMES = frozenset(
    {
        *("q_id", "qid", "qa_id", "question_no", "question_nr", "question_number", "question_index", "question_idx"),
        *("sample_id", "case_id", "topic_id", "prompt_id", "item_id", "task_id", "example", "idx", "index", "number"),
    }
)
"""Names that may be that of the question's id, and may mean something else: they are proposed and not read."""

METHOD_NAMES = (
    *("method", "method_name", "system", "system_name", "variant", "version", "model", "model_name", "pipeline"),
    *("retriever", "approach", "strategy", "technique", "algorithm", "config", "configuration", "setup", "experiment"),
    *("experiment_name", "arm", "engine", "backend", "condition", "search", "search_type", "mode", "name"),
)
"""Names of columns with the method, the likeliest first."""

WRAPPERS: Mapping[str, frozenset[str]] = {
    "inputs": frozenset({"question"}),
    "input": frozenset({"question"}),
    "vars": frozenset({"question"}),
    "outputs": frozenset({"answer"}),
    "output": frozenset({"answer"}),
    "response": frozenset({"answer"}),
    "reply": frozenset({"answer"}),
    **dict.fromkeys(
        ("reference_outputs", "expectations", "expected", "expected_output", "reference"),
        frozenset({"expected_answer", "answer"}),
    ),
}
"""Names whose value may be an object with several fields, and the fields of its main text.

They may also be the first part of a column's name, as in `inputs.question`.
"""
PARSED_WRAPPERS = frozenset({"inputs", "vars", "outputs", "response", "reply", "reference_outputs", "expectations"})
"""The names whose cells in a table may be such an object; in the cells of others, what looks like one is a text."""
ANSWER_LISTS = ("text", "spans")
"""Where SQuAD and DROP have the list of accepted answers of a question."""
ALIASED = ("value", "answer", "text")
"""Where an object with `aliases` has the accepted answer that they are beside, as in TriviaQA."""
ANSWER_ALIASES = ("answer_aliases", "alt_ans")
"""The names of further accepted answers in MuSiQue and CRAG, beside which `answer` is what is expected."""
EVIDENCE = frozenset(
    {
        *(SUPPORT, "evidence_list", "evidence_triple", "evidence_triples", "evidence_relations"),
        *("question_decomposition", "well_formed_answers"),
    }
)
"""Where public data sets say what their answer rests on, beside which `answer` is what is expected if nothing else is.

They are those of HotpotQA, 2WikiMultihopQA, MultiHop-RAG, GraphRAG-Bench, MuSiQue and MS MARCO.
"""
ALIAS_NAMES = frozenset(
    {*ANSWER_ALIASES, *(f"{name}_aliases" for name in ("expected_answer", *FIELD_NAMES["expected_answer"]))}
)
"""Names of columns with accepted answers beside the expected one."""
METADATA = "metadata"
"""The name of an object whose plain values become tags."""
MESSAGE_MARKS = frozenset({"role", "type", "lc"})
"""Names that mark an object as a message, which is one text."""
DATASET_MARKS = frozenset({"dataset_id", "source_run_id"})
"""Names that mark a row as an example of a LangSmith data set, in which `outputs` is what is expected."""
GENERATED = (
    *("generated_answer", "predicted_answer", "model_answer", "generated_texts", "prediction", "predictions", "pred"),
    *("actual_answer", "system_answer", "generated_response", "model_response", "llm_answer", "rag_answer"),
)
"""Names of what a system answered, beside which `answer` is what is expected if nothing else is."""

DEEPEVAL_MARKS = frozenset({"actual_output", "expected_output", "retrieval_context"})
"""Names that mark a `context` as deepeval's, which holds the ideal context and not the retrieved one."""

PHOENIX_MARK = "context.span_id"
"""The name that marks a `reference` as Phoenix's, which holds what was retrieved and not what is expected."""
MAX_SHOWN = 60
MAX_TAG = 200
"""The maximum length of a text of another column that becomes a tag; longer ones are no groups."""
MAX_TAGS = 100
"""The maximum number of other columns of a row that become tags."""
_WORD_BREAK = re.compile(r"[\s_-]+|(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[a-z]+")
_HOP = re.compile(r"^<\d+-hop>\s*")
# The rows of a file have the same columns, so that each name is folded once.
CACHED_NAMES = 4096
TYPO_PREFIX = "did you mean "


@dataclass
class MappedRow:
    """The fields of one row: their values and original names, and the names that were ignored or became tags.

    `parts` holds the names that are parts of fields, such as `essential_docs`, with their dotted names. `tagged` holds
    the tag of each column that became one, by the path of the column. `chunk_parts` holds the parts of chunks that are
    recorded apart from them, each with its name, and `faults` what is wrong with a column by its name.
    """

    values: dict[str, object] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    ignored: dict[str, str] = field(default_factory=dict)
    tagged: dict[str, str] = field(default_factory=dict)
    chunk_parts: dict[str, tuple[str, object]] = field(default_factory=dict)
    faults: dict[str, str] = field(default_factory=dict)


def map_fields(row: Mapping[str, object]) -> MappedRow:
    """Map the values of a row, by their names in the file, to the fields of a case; None means not recorded.

    The result holds values and original names by field, and the reason for each ignored name, "" if it is unknown.
    Names count in any case, with spaces, hyphens or underscores. A column of another name becomes a tag if its value
    is a number, a truth value or a short text.

    Example:
        >>> map_fields({"User Input": "Who?", "level": 3}).values
        {'question': 'Who?', 'tags': {'level': 3}}
    """
    settled = MappedRow()
    # By far the most common: greval's own names need no search for others.
    if row.keys() <= OWN_FIELDS and HISTORY not in row and isinstance(row.get("question"), str):
        settled.values = {name: value for name, value in row.items() if value is not None}
        settled.names = {name: name for name in settled.values}
        return settled
    unified, spelt = _unify_spelling(row)
    unified = _spread_conversation(unified, spelt)
    passed_over = _find_passed_over(unified)
    spare_ids: dict[str, object] = {}
    # In the order of precedence, which is not that of the columns.
    for name, field_name in FIELD_BY_NAME.items():
        if unified.get(name) is None:
            continue
        original = spelt.get(name, name)
        if name in passed_over:
            settled.ignored[original] = passed_over[name]
        elif field_name == "id" and field_name in settled.values and is_tag_value(unified[name]):
            spare_ids[original] = unified[name]
        elif field_name in settled.values:
            settled.ignored[original] = f"{settled.names[field_name]} is there"
        else:
            settled.values[field_name], settled.names[field_name] = unified[name], original
    other_columns = _nest_dotted(unified, spelt, settled)
    _add_tags(other_columns, spelt, settled)
    # A second id may pair the rows of several methods where the first does not.
    for name, value in spare_ids.items():
        if len(settled.tagged) < MAX_TAGS and _add_part(settled, "tags", name, value):
            settled.tagged[name] = name
        else:
            settled.ignored[name] = f"{settled.names['id']} is there"
    return settled


@lru_cache(maxsize=CACHED_NAMES)
def fold_name(name: str) -> str:
    """Return a name in lower case, with underscores between its words.

    Example:
        >>> fold_name(" Retrieved Contexts"), fold_name("actualOutput")
        ('retrieved_contexts', 'actual_output')
    """
    return "_".join(part for part in _WORD_BREAK.split(name.strip()) if part).lower()


@lru_cache(maxsize=CACHED_NAMES)
def find_known_name(name: str) -> str | None:
    """Return the known name that a name is, in any case and with spaces or hyphens, or None if it is unknown."""
    if is_known(name):
        return name
    folded = fold_name(name)
    prefix = next((candidate for candidate in PREFIXES if folded.startswith(candidate)), "")
    # The name of a tag keeps its case.
    folded = f"{prefix}{name.strip()[len(prefix) :]}" if PREFIXES.get(prefix) == "tags" else folded
    return folded if is_known(folded) else None


def _unify_spelling(row: Mapping[str, object]) -> tuple[Mapping[str, object], dict[str, str]]:
    """Return a row under the known spelling of its names, and the original of each name that was spelt otherwise.

    A name that is there in both spellings keeps its own, and the other one stays unknown.
    """
    unified: dict[str, object] = {}
    spelt: dict[str, str] = {}
    for name, value in _lift_wrapped(row, spelt).items():
        known_name = find_known_name(name)
        if (
            known_name is None
            or known_name == name
            or row.get(known_name) is not None
            or unified.get(known_name) is not None
        ):
            unified[name] = value
        else:
            unified[known_name], spelt[known_name] = value, spelt.get(name, name)
    if PHOENIX_MARK in row and "reference" in unified and unified.get("contexts") is None:
        unified["contexts"], spelt["contexts"] = unified.pop("reference"), spelt.get("reference", "reference")
    if unified.get("answer") is not None and expects_answer(unified, unified["answer"]):
        unified[EXPECTED], spelt[EXPECTED] = unified.pop("answer"), spelt.get("answer", "answer")
    return unified, spelt


def expects_answer(names: Collection[str], answer: object) -> bool:
    """Return whether the `answer` of a row of some names is what is expected: data sets call it so beside an answer.

    The names count, and not what a row has there, so that a row without a prediction is read as the others. Several
    accepted answers are expected beside any answer, and so is the answer of a data set that says what it rests on.

    Example:
        >>> expects_answer(["answer", "prediction"], "Ada"), expects_answer(["answer", "response"], "Ada")
        (True, False)
        >>> expects_answer(["answer", "response"], ["Ada", "Ada L."])
        True
        >>> expects_answer(["answer", "supporting_facts"], "Ada")
        True
    """
    known_names = {find_known_name(name) for name in names}
    if not known_names.isdisjoint(list_names(EXPECTED)):
        return False
    if not EVIDENCE.isdisjoint(map(fold_name, names)):
        return True
    answer_names = (*GENERATED, *ANSWER_ALIASES, *(list_names("answer")[1:] if _are_accepted_answers(answer) else ()))
    return not known_names.isdisjoint(answer_names)


def _are_accepted_answers(answer: object) -> bool:
    """Return whether an answer is a list of texts, or an object in which data sets hold accepted answers."""
    if isinstance(answer, Mapping):
        return _holds_accepted_answers(answer)
    return isinstance(answer, list | tuple) and bool(answer) and all(isinstance(text, str) for text in answer)


def _spread_conversation(row: Mapping[str, object], spelt: dict[str, str]) -> Mapping[str, object]:
    """Return a row whose conversation is history, question and answer, in whichever of its forms it was recorded."""
    places = {fold_name(name): name for name in row}
    question_names = list_names("question")
    if places.keys().isdisjoint((*HISTORY_NAMES, *CONVERSATION_NAMES)) and not any(
        isinstance(row.get(name), list | tuple) for name in question_names
    ):
        return row
    spread_row = dict(row)
    for name in [places[name] for name in HISTORY_NAMES if name in places]:
        turns = read_turns(spread_row[name])
        if turns is not None:
            del spread_row[name]
            if spread_row.setdefault(HISTORY, turns) is turns:
                spelt[HISTORY] = spelt.get(name, name)
        elif name == HISTORY and is_tag_value(spread_row[name]):
            # Such as the subject of a question.
            spread_row["tags.history"] = spread_row.pop(name)
    for name in (*question_names, *(places[name] for name in CONVERSATION_NAMES if name in places)):
        turns = (
            None
            if isinstance(spread_row.get(name), str) and name in question_names
            else read_turns(spread_row.get(name))
        )
        if parts := split_conversation(turns or ()):
            del spread_row[name]
            _add_conversation(parts, turns or [], spread_row, spelt, spelt.get(name, name))
            break
    return spread_row


def _add_conversation(
    parts: SplitConversation, turns: list[dict[str, object]], row: dict[str, object], spelt: dict[str, str], name: str
) -> None:
    """Add the parts of a conversation to a row, as far as it does not have them under names of their own."""
    turns_before, last_question, answer = parts
    question = next(
        (text for alias in list_names("question") if isinstance(text := row.get(alias), str) and text), None
    )
    if question is None:
        row["question"], spelt["question"] = last_question, name
    if history := turns_before if question in {None, last_question} else turns:
        row.setdefault(HISTORY, history)
    if answer and all(row.get(alias) is None for alias in list_names("answer")):
        row["answer"], spelt["answer"] = answer, name


def _lift_wrapped(row: Mapping[str, object], spelt: dict[str, str]) -> Mapping[str, object]:
    """Return a row with the fields that are inside objects such as `inputs`; record their original places."""
    row = _nest_wrapped_columns(row)
    wrapped = [name for name, value in row.items() if _is_wrapper(fold_name(name), value)]
    if not wrapped:
        return row
    # LangSmith keeps the expected output of an example under `outputs`.
    is_example = not DATASET_MARKS.isdisjoint(row) and row.get("reference_outputs") is None
    lifted = {name: value for name, value in row.items() if name not in wrapped}
    parts = (part for name in wrapped if isinstance(inner := row[name], Mapping) for part in inner.items())
    recorded_fields = {find_field(name) for name, value in lifted.items() if value is not None}
    # The outputs may have a question that was written anew; an answer is one wherever it is.
    recorded_fields |= {"answer"} & {find_field(str(part)) for part, value in parts if value is not None}
    for name in wrapped:
        folded, inner = fold_name(name), row[name]
        assert isinstance(inner, Mapping)  # noqa: S101 - selected above
        main_field = FIELD_BY_NAME[folded] if folded != "outputs" or not is_example else EXPECTED
        main = find_main(inner, folded)
        if main is None and main_field not in recorded_fields:
            main = _find_only_text(inner)
        for part, value in inner.items():
            known_name = main_field if part == main else find_known_name(str(part)) if main_field != EXPECTED else None
            path = f"{name}.{part}"
            target = known_name or (str(part) if main_field != EXPECTED else path)
            if lifted.get(target) is not None:
                target = path
            lifted[target] = value
            if target != path:
                spelt[target] = path
    return lifted


def _is_wrapper(name: str, value: object) -> bool:
    """Return whether a value is an object of fields, and not a message or the accepted answers."""
    if name not in WRAPPERS or not isinstance(value, Mapping) or not MESSAGE_MARKS.isdisjoint(value):
        return False
    return FIELD_BY_NAME[name] != EXPECTED or not _holds_accepted_answers(value)


def _holds_accepted_answers(value: Mapping[str, object]) -> bool:
    """Return whether an object has the accepted answers of SQuAD or DROP, or the answer and its aliases of TriviaQA."""
    return find_aliased(value) is not None or any(isinstance(value.get(part), list | tuple) for part in ANSWER_LISTS)


def find_aliased(value: Mapping[str, object]) -> str | None:
    """Return the accepted answer of an object that has `aliases` of it, or None if it has no aliases."""
    if not isinstance(value.get("aliases"), list | tuple):
        return None
    return next((text for part in ALIASED if isinstance(text := value.get(part), str)), None)


def split_wrapped(name: str) -> tuple[str, str] | None:
    """Return the parts of a column's name such as `inputs.question`, or None if it is not such a name.

    Example:
        >>> split_wrapped("outputs.answer"), split_wrapped("gold.answers")
        (('outputs', 'answer'), None)
    """
    prefix, dot, part = name.partition(".")
    return (prefix, part) if dot and part and fold_name(prefix) in WRAPPERS else None


def _nest_wrapped_columns(row: Mapping[str, object]) -> Mapping[str, object]:
    """Return a row with columns such as `inputs.question` as objects, unless the object is there too."""
    split_columns = {
        name: name_parts for name in row if (name_parts := split_wrapped(name)) and row.get(name_parts[0]) is None
    }
    if not split_columns:
        return row
    nested: dict[str, object] = {name: value for name, value in row.items() if name not in split_columns}
    for name, (prefix, part) in split_columns.items():
        wrapper = nested.get(prefix)
        nested[prefix] = {**(wrapper if isinstance(wrapper, Mapping) else {}), part: row[name]}
    return nested


def find_main(inner: Mapping[str, object], wrapper: str) -> str | None:
    """Return the name of the main text in an object that is called like one of `WRAPPERS`, None if no name is known."""
    return next((part for part in inner if find_field(str(part)) in WRAPPERS[wrapper]), None)


def _find_only_text(inner: Mapping[str, object]) -> str | None:
    texts = [part for part, value in inner.items() if isinstance(value, str)]
    return texts[0] if len(texts) == 1 else None


def find_field(name: str) -> str | None:
    """Return the field that a name stands for in any case, None if it stands for none or for a part of one."""
    return FIELD_BY_NAME.get(find_known_name(name) or "")


_SUGGESTED = (*(name for name in FIELD_BY_NAME if name not in SHORT_NAMES), *DOTTED_NAMES)


@lru_cache(maxsize=CACHED_NAMES)
def suggest_name(name: str) -> str | None:
    """Return the known name that is nearest to an unknown one, or None."""
    return None if fold_name(name) in {*ID_NAMES, *METHOD_NAMES, *PART_NAMES} else find_typo(name, _SUGGESTED)


def is_tag_value(value: object) -> bool:
    """Return whether the value of a column that is no field can be a tag: a number, a truth value or a short text."""
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) <= MAX_TAG)


def _add_tags(columns: Mapping[str, object], spelt: Mapping[str, str], settled: MappedRow) -> None:
    """Add columns that are no fields to the tags, and record those that cannot be tags as ignored."""
    for path, name, value in _spread_metadata(columns, spelt):
        if value is None:
            continue
        if len(settled.tagged) == MAX_TAGS:
            settled.ignored[path] = f"more than {MAX_TAGS} tags"
        elif not is_tag_value(value):
            settled.ignored[path] = f"longer than {MAX_TAG} characters" if isinstance(value, str) else ""
        elif find_known_name(name) and name not in PART_NAMES:
            settled.ignored[path] = f"{find_known_name(name)} is there"
        elif suggestion := suggest_name(name):
            settled.ignored[path] = f"{TYPO_PREFIX}{suggestion}?"
        elif not _add_part(settled, "tags", name, value):
            settled.ignored[path] = "tags is there"
        else:
            settled.tagged[path] = name


def _spread_metadata(columns: Mapping[str, object], spelt: Mapping[str, str]) -> Iterator[tuple[str, str, object]]:
    """Yield the path, the name and the value of columns, and of the plain values inside `metadata`."""
    for name, value in columns.items():
        path = spelt.get(name, name)
        if fold_name(name) != METADATA or not isinstance(value, Mapping):
            yield path, name, value
        else:
            yield from (
                (f"{path}.{part}", str(part), inner)
                for part, inner in value.items()
                if is_tag_value(inner) and part not in columns
            )


def is_traversal_log(names: Iterable[str]) -> bool:
    """Return whether names are those of a traversal log, which has no question: its id is used as the question."""
    distinct_names = {*names}
    return not TRAVERSAL_NAMES.isdisjoint(distinct_names) and not distinct_names.isdisjoint(list_names("id"))


def _find_passed_over(row: Mapping[str, object]) -> dict[str, str]:
    """Return the known names that are ignored in this row, each with the reason."""
    passed_over = {name: "no texts" for name in COMMON_CHUNKS if isinstance(row.get(name), bool | int | float)}
    text = row.get("context_text")
    if row.get("context") is None:
        return passed_over
    if not DEEPEVAL_MARKS.isdisjoint(row):
        passed_over["context"] = "deepeval's ideal context, not what was retrieved"
    elif isinstance(text, str) and not _has_passages(row["context"], text):
        passed_over["context"] = "context_text holds what was retrieved, this does not"
    return passed_over


def _has_passages(context: object, text: str) -> bool:
    """Return whether passages of a retrieved text, rather than ids, tables or other texts, make up half of it."""
    items = context if isinstance(context, list | tuple) else [context]
    texts = [item.get("text") if isinstance(item, Mapping) else item for item in items]
    retrieved = " ".join(text.split())
    passages = [
        part for passage in texts if isinstance(passage, str) and (part := " ".join(passage.split())) in retrieved
    ]
    return len(passages) == len(texts) and 2 * sum(map(len, passages)) >= len(retrieved)


def split_dotted(name: str) -> tuple[str, str] | None:
    """Return the field and the subfield of a name such as `gold.essential_docs`, or None if it is not such a name.

    The names of `BARE_NAMES` and of `PART_NAMES` have a subfield too. `start_nodes` belongs to gold here, but to the
    traversal in a log.

    Example:
        >>> split_dotted("tag:movie")
        ('tags', 'movie')
    """
    for prefix, field_name in PREFIXES.items():
        if name.startswith(prefix) and len(name) > len(prefix):
            return field_name, name.removeprefix(prefix)
    return (BARE_NAMES[name], name) if name in BARE_NAMES else PART_NAMES.get(name)


def is_known(name: str) -> bool:
    """Return whether a name is that of a case field or of a subfield."""
    return name in FIELD_BY_NAME or name in ALIAS_NAMES or split_dotted(name) is not None


def is_name_of_part(name: str) -> bool:
    """Return whether a name is that of a part in another tool, such as `retrieved_context_ids`."""
    known_name = find_known_name(name) or ""
    return name not in DOTTED_NAMES and (known_name in PART_NAMES or known_name in ALIAS_NAMES)


def list_names(field_name: str) -> tuple[str, ...]:
    """List all names of a field, greval's own first."""
    return tuple(name for name, stands_for in FIELD_BY_NAME.items() if stands_for == field_name)


def format_printable(text: str, limit: int = MAX_SHOWN) -> str:
    """Format a text from a file for printing: truncate it, and escape control characters and lone surrogates."""
    cut = text if len(text) <= limit else f"{text[: limit - 3]}..."
    return cut if cut.isprintable() else ascii(cut)[1:-1]


def _nest_dotted(row: Mapping[str, object], spelt: Mapping[str, str], settled: MappedRow) -> dict[str, object]:
    """Put dotted columns into their fields, and return the columns that are no fields."""
    other_columns: dict[str, object] = {}
    walked = not TRAVERSAL_NAMES.isdisjoint(row)
    for name, value in _order_columns(row, settled):
        if name in FIELD_BY_NAME:
            continue
        target = ("traversal", START_NODES) if walked and name == START_NODES else _find_place(name, value)
        original = spelt.get(name, name)
        if name in ALIAS_NAMES and value is not None:
            _add_aliases(settled, original, value)
        elif not target:
            other_columns[name] = value
        elif value is not None and target[0] == CHUNKS:
            _add_chunk_part(settled, target[1], original, value)
        elif value is not None and _add_part(settled, *target, convert_time(".".join(target), original, value)):
            settled.parts[original] = ".".join(target)
        elif value is not None:
            settled.ignored[original] = f"{target[0]} is there"
    return other_columns


def _order_columns(row: Mapping[str, object], settled: MappedRow) -> list[tuple[str, object]]:
    """Return the columns of a row, those with gold texts after gold ids, or before them if chunks have texts alone."""
    if GOLD_TEXTS.isdisjoint(row):
        return [*row.items()]
    chunks = settled.values.get(CHUNKS)
    has_ids = any(PART_NAMES.get(name) in CHUNK_IDS and value is not None for name, value in row.items())
    are_texts = isinstance(chunks, list | tuple) and all(isinstance(chunk, str) for chunk in chunks) and not has_ids
    columns = [(name, _clean_gold_texts(value) if name in GOLD_TEXTS else value) for name, value in row.items()]
    return sorted(columns, key=lambda column: (column[0] in GOLD_TEXTS) != are_texts)


def _clean_gold_texts(texts: object) -> object:
    """Return texts without the mark that ragas puts before each passage of a question over several passages."""
    if not isinstance(texts, list | tuple):
        return texts
    return [_HOP.sub("", text) if isinstance(text, str) else text for text in texts]


def convert_time(part: str, column: str, value: object) -> object:
    """Return the value of a part in seconds if its column names another unit; other parts and texts as they are.

    Example:
        >>> convert_time("usage.latency", "Latency (ms)", "1828"), convert_time("usage.latency", "seconds", 2)
        (1.828, 2.0)
        >>> convert_time("usage.latency", "took", 2), convert_time("usage.cost", "ms", 2)
        (2, 2)
    """
    words = _WORD.findall(fold_name(column))
    factor = SECONDS_BY_UNIT.get(words[-1]) if words and part in TIMES else None
    if factor is None or isinstance(value, bool) or not isinstance(value, str | int | float):
        return value
    try:
        return float(value) * factor
    except ValueError:
        return value


def _add_aliases(settled: MappedRow, column: str, aliases: object) -> None:
    """Add aliases, which are a list or one text, to the accepted answers; without an answer they are ignored."""
    if (expected := settled.values.get(EXPECTED)) is None:
        settled.ignored[column] = "aliases of an expected answer, which is missing"
        return
    further_answers = aliases if isinstance(aliases, list | tuple) else [aliases]
    if further_answers:
        # Several answers in a text are lines.
        answers = expected.splitlines() if isinstance(expected, str) else expected
        settled.values[EXPECTED] = [*(answers if isinstance(answers, list | tuple) else [answers]), *further_answers]
    settled.parts[column] = EXPECTED


def _find_place(name: str, value: object) -> tuple[str, str] | None:
    """Return the field and the part that a column is, judged by its name and by what it holds; None if it is none."""
    target = split_dotted(name)
    if name in PART_NAMES and not _may_be_part(name, value):
        return None
    # No field of gold is a number, so that documents with numbers can only be grades.
    return ("gold", "grades") if target == ("gold", "essential_docs") and _is_graded(value) else target


def _may_be_part(name: str, value: object) -> bool:
    """Return whether a value is a time, or documents, and not a number of them or a property of the row."""
    if PART_NAMES[name] == LATENCY:
        seconds = convert_time(".".join(LATENCY), name, value)
        return isinstance(seconds, float) and 0 <= seconds < inf
    if value is None or isinstance(value, list | tuple | Mapping) or name in DOTTED_NAMES:
        return True
    return isinstance(value, str) and name not in LISTED_PARTS


def _is_graded(value: object) -> bool:
    return (
        isinstance(value, Mapping) and bool(value) and all(isinstance(grade, int | float) for grade in value.values())
    )


def _add_chunk_part(settled: MappedRow, part: str, column: str, value: object) -> None:
    """Add a part of all chunks, such as their ids, unless there is one already."""
    if part in settled.chunk_parts:
        settled.ignored[column] = f"{settled.chunk_parts[part][0]} is there"
    else:
        settled.chunk_parts[part] = column, value
        settled.parts[column] = "chunks.doc_id" if part == "id" else f"chunks.{part}"


def _add_part(settled: MappedRow, field_name: str, part: str, value: object) -> bool:
    """Add a subfield to a field; return False if the field already has it."""
    record = settled.values.get(field_name, {})
    if not isinstance(record, Mapping) or record.get(part) is not None:
        return False
    settled.values[field_name] = {**record, part: value}
    settled.names.setdefault(field_name, field_name)
    return True
