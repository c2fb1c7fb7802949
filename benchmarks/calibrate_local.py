"""Fit the calibrations of the embedded model (`greval/judging/model/calibrations.json`), and test them.

    python benchmarks/calibrate_local.py read --part dev --out runs/odds
    python benchmarks/calibrate_local.py fit --out runs/odds
    python benchmarks/calibrate_local.py read --part heldout --out runs/odds
    python benchmarks/calibrate_local.py test --out runs/odds

`read` asks the embedded model for the value of each item, without a reason, and stores the log-probability of every
value; the same command again goes on. `fit` fits a logistic model with an L2 penalty to the log-odds and the features
of each metric, prints its figures on other questions than it is fitted on, and writes the coefficients; with `--check`
it fails unless they are the shipped ones. `test` prints Cohen's kappa and F1 of the model alone, of rules of one line
(with thresholds that are fitted on the development part) and of the calibrated model, with intervals that resample
questions, as a table.

Answers: those of `answers.py` (NQ301). Passages: those of `chunks.py` (HotpotQA); the development part also has
questions of MuSiQue, each with its supporting passages and five others, and of 2WikiMultihopQA, each with the first
five that a search by vectors found. Triples: those of `evidence.py`. Claims: those of `evidence.py`, and those of
`claims.jsonl`, written for this benchmark before a held-out one was judged: for 40 questions of HotpotQA in each part,
a claim that the passages of the question support and one that they do not.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import answers
import chunks
import evidence
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import cohen_kappa_score, f1_score, roc_auc_score
from sklearn.preprocessing import StandardScaler

from greval import Case, Judge, load_metric
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.calibrations import CALIBRATIONS_FILE, read_calibrations
from greval.judging.model.client import JudgeClient
from greval.judging.model.item_features import FEATURES
from greval.judging.model.local_answers import WEIGHED_ALTERNATIVES
from greval.judging.model.value_first import ValueFirst
from greval.judging.reply_json import compute_value_probabilities
from greval.metrics.computed.shared_words import list_content_words, share_words
from greval.metrics.library import find_metric
from greval.records.case import Chunk
from greval.records.metric_input import Item, compute_fingerprint, list_items
from greval.trust.agreement.rules import compute_numbers, measure_lengths

SHARED = Path(__file__).parents[2] / "shared" / "data"
MUSIQUE = SHARED / "multihop_musique_100" / "questions.jsonl"
WIKI = SHARED / "multihop_2wiki_51_systems"
CLAIMS = Path(__file__).with_name("claims.jsonl")
MUSIQUE_QUESTIONS, WIKI_QUESTIONS = 12, 12
FIRST_TOKENS = {"0": [15], "Irrelevant": [48113]}
"""The numbers of the tokens of the model's vocabulary that begin these values and no other."""
FOLDS, RESAMPLES = 10, 2000
WORD_METRICS = {
    "answers": ("answer_words", "token_f1", "fuzzy_containment"),
    "passages": ("chunk_words",),
    "triples": ("triple_words",),
    "claims": ("answer_words-context",),
}
"""The computed metrics that are rules of one line, by kind."""
NO_CALIBRATION: Mapping[str, object] = {"slope": 1.0, "intercept": 0.0, "weights": {}}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
LEAST = 1e-6
"""Keeps log-probabilities finite where a value is not among the likely tokens."""


class LabelledItem(NamedTuple):
    """An item: its question, its case, its id within the case if it is not the whole, its label, and where it is from.

    The source is named if the items of a kind are from several ones whose figures differ.
    """

    question: str
    case: Case
    item: str | None
    label: bool
    source: str = ""

    @property
    def key(self) -> str:
        """Return the key by which what the model said is stored."""
        return f"{self.case.id}/{self.item}"

    def find_part(self) -> Item | None:
        """Find the chunk or triple, None if the item is the whole case."""
        parts = (*list_items("chunks", self.case), *list_items("triples", self.case))
        return next((part for part in parts if part.id == self.item), None) if self.item else None


class Kind(NamedTuple):
    """A kind of item: its metric with the worst value, the features, and the items of a part, of so many questions.

    A calibration that is not `shipped` is only measured: the model alone decides.
    """

    metric: str
    worst: str
    features: Sequence[str]
    read: Callable[[str, int], Iterator[LabelledItem]]
    sizes: Mapping[str, int]
    data: str
    shipped: bool = True


def main() -> None:
    """Read probabilities, fit calibrations, or test them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("read", "fit", "test"))
    parser.add_argument("--kind", choices=KINDS, action="append", help="all if none is named")
    parser.add_argument("--part", choices=("dev", "heldout"), default="dev")
    parser.add_argument("--out", type=Path, default=Path("runs/odds"))
    parser.add_argument("--check", action="store_true", help="fit, but only compare with the shipped coefficients")
    args = parser.parse_args()
    kinds = args.kind or KINDS
    if args.step == "read":
        args.out.mkdir(parents=True, exist_ok=True)
        for name in kinds:
            asyncio.run(read_odds(name, args.part, args.out))
    elif args.step == "fit":
        calibrations = {name: stored.model_dump(mode="json") for name, stored in read_calibrations().items()}
        for name in kinds:
            fitted = fit(name, args.out) | ({} if KINDS[name].shipped else NO_CALIBRATION)
            shipped = calibrations.get(str(fitted["metric"]), {})
            if args.check and any(shipped.get(field) != value for field, value in fitted.items() if field != "date"):
                sys.exit(
                    f"{fitted['metric']}: expected the shipped calibration, got {fitted}; run `fit` without --check"
                )
            # the rule that a test found stays until the test is run again
            calibrations[str(fitted["metric"])] = {**fitted, "equal_rule": shipped.get("equal_rule", "")}
        if args.check:
            return
        CALIBRATIONS_FILE.write_text(json.dumps([*calibrations.values()], indent=2) + "\n", encoding="utf-8")
    else:
        for name in kinds:
            test(name, args.out)


def read_answers(part: str, size: int) -> Iterator[LabelledItem]:
    """Read judged answers of NQ301."""
    for row in answers.sample(part, size):
        yield LabelledItem(str(row["question_id"]), answers.case(row), None, row["human"] == "correct")


def read_passages(part: str, size: int) -> Iterator[LabelledItem]:
    """Read the passages of questions, each in a case with the others."""
    for row in chunks.sample(part, size):
        yield from label_chunks(chunks.case(row), {*row["gold_titles"]})
    if part == "dev":
        yield from read_musique()
        yield from read_wiki()


def read_musique() -> Iterator[LabelledItem]:
    """Read the supporting passages of questions of MuSiQue, and five others of each."""
    rows = [json.loads(line) for line in MUSIQUE.read_text(encoding="utf-8").splitlines()]
    random.Random(20261).shuffle(rows)
    draw = random.Random(3)
    for row in [row for row in rows if row["hops"] == "2hop"][:MUSIQUE_QUESTIONS]:
        good, bad = ([one for one in row["passages"] if one["is_supporting"] is kind] for kind in (True, False))
        passages = {passage["title"]: passage["text"] for passage in (*draw.sample(bad, 5), *good)}
        yield from label_chunks(build_case(row, passages), {passage["title"] for passage in good})


def read_wiki() -> Iterator[LabelledItem]:
    """Read the first five passages that a search found for questions of 2WikiMultihopQA."""
    lines = (WIKI / "passages.jsonl").read_text(encoding="utf-8").splitlines()
    texts = {row["title"]: row["text"] for row in map(json.loads, lines)}
    rows = [json.loads(line) for line in (WIKI / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    random.Random(20261).shuffle(rows)
    for row in rows[:WIKI_QUESTIONS]:
        titles = [title for title in row["retrieved"]["vectordb"] if title in texts][:5]
        yield from label_chunks(build_case(row, {title: texts[title] for title in titles}), {*row["gold_titles"]})


def build_case(row: Mapping[str, str], passages: Mapping[str, str]) -> Case:
    """Build the case of a question with passages by their titles."""
    texts = [{"id": title, "text": f"{title}. {text}"} for title, text in passages.items()]
    return Case(id=row["id"], question=row["question"], chunks=texts)


def label_chunks(case: Case, gold: set[str]) -> Iterator[LabelledItem]:
    """Label the chunks of a case by the titles of the gold passages."""
    for chunk in case.chunks or ():
        yield LabelledItem(case.id, case, chunk.id, chunk.id in gold)


def read_triples(part: str, size: int) -> Iterator[LabelledItem]:
    """Read triples of evidence and others."""
    for row in evidence.read_triples(part, size):
        yield LabelledItem(row.question, row.case, "t", row.label)


def read_claims(part: str, size: int) -> Iterator[LabelledItem]:
    """Read claims made of triples, then those of `claims.jsonl`, with their passages and two others."""
    for row in evidence.read_claims(part, size):
        yield LabelledItem(row.question, row.case, None, row.label, "made of triples")
    questions = {row["id"]: row for row in map(json.loads, chunks.DATA.read_text(encoding="utf-8").splitlines())}
    for row in map(json.loads, CLAIMS.read_text(encoding="utf-8").splitlines()):
        question = questions[row["id"]]
        for label in ("supported", "unsupported") if row["part"] == part else ():
            case = Case(id=f"{row['id']}-{label}", question=question["question"], answer=row[label])
            case = case.model_copy(update={"chunks": pick_chunks(question)})
            yield LabelledItem(row["id"], case, None, label == "supported", "written")


def measure_words_together(case: Case, _: Item | None) -> float:
    """Return 1 less the share of a sentence's words that are in the context, but in another passage than most of them.

    The sentence of the answer for which this is lowest counts: a wrong claim often joins what several passages say.
    """
    passages = [frozenset(list_content_words(chunk.text or "")) for chunk in case.chunks or ()]
    context = frozenset[str]().union(*passages)
    shares = [1.0]
    for words in map(list_content_words, SENTENCE_END.split(case.answer or "")):
        together = max((len(words & passage) for passage in passages), default=0)
        shares.append(1 - (len(words & context) - together) / max(1, len(words)))
    return min(shares)


MEASURES: Mapping[str, Callable[[Case, Item | None], float]] = {**FEATURES, "words together": measure_words_together}


def pick_chunks(row: Mapping[str, Any]) -> tuple[Chunk, ...]:
    """Return the gold passages of a question and two others, in their order."""
    others = [passage["title"] for passage in row["passages"] if passage["title"] not in row["gold_titles"]]
    titles = {*row["gold_titles"], *others[:2]}
    return tuple(chunk for chunk in chunks.case(row).chunks if chunk.id in titles)


KINDS: dict[str, Kind] = {
    "answers": Kind(
        "correctness", "0", ("expected words in answer",), read_answers, {"dev": 160, "heldout": 200}, "NQ301"
    ),
    "passages": Kind(
        "chunk_evaluation",
        "Irrelevant",
        ("rare question words", "rare question words above mean", "named by question"),
        read_passages,
        {"dev": 10, "heldout": 20},
        "HotpotQA, MuSiQue, 2WikiMultihopQA",
    ),
    "triples": Kind(
        "triple_evaluation",
        "Irrelevant",
        ("triple words in question",),
        read_triples,
        {"dev": 24, "heldout": 40},
        "GraphRAG-Bench, Novel-47558",
    ),
    "claims": Kind(
        "faithfulness",
        "0",
        ("words together",),
        read_claims,
        {"dev": 40, "heldout": 40},
        "GraphRAG-Bench, Novel-47558, and HotpotQA",
        shipped=False,
    ),
}


async def read_odds(name: str, part: str, folder: Path) -> None:
    """Store the log-probability of each value for each item that has none yet, as an answer's first tokens give it."""
    kind, path = KINDS[name], folder / f"{name}-{part}.jsonl"
    judging = MetricJudge(load_metric(kind.metric), JudgeClient(Judge("local", timeout=600, calibration=False)))
    values = tuple(judging.metric.scale.answer_schema()["enum"])
    # one letter of a reason is the shortest answer
    question = replace(judging.question, alternatives=WEIGHED_ALTERNATIVES, value_first=ValueFirst(values, 1))
    stored = read_stored(path)
    items = [*kind.read(part, kind.sizes[part])]
    with path.open("a", encoding="utf-8") as file:
        for number, item in enumerate(items, 1):
            if item.key in stored:
                continue
            (batch,) = (batch for batch in judging.split_batches(item.case) if not batch or batch[0].id == item.item)
            reply = await judging.client.ask(question, judging.build_messages(item.case, batch))
            likely = compute_value_probabilities(reply.tokens, ("value",), values)
            if reply.failure or not likely:
                sys.exit(f"{item.key}: {reply.failure or 'no probabilities'}")
            logs = {str(value): math.log(max(likely.get(value, 0.0), LEAST)) for value in values}
            file.write(f"{json.dumps({'key': item.key, 'logs': logs})}\n")
            file.flush()
            print(f"\r{name}, {part}: {number}/{len(items)}", end="", file=sys.stderr, flush=True)


def read_stored(path: Path) -> dict[str, dict[str, float]]:
    """Read the stored log-probabilities by the keys of the items."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ()
    return {row["key"]: row["logs"] for row in map(json.loads, lines)}


class Table(NamedTuple):
    """The items of a part as columns: labels, questions, log-odds of a good value, features, and numbers of rules."""

    labels: np.ndarray
    questions: np.ndarray
    odds: np.ndarray
    features: np.ndarray
    rules: Mapping[str, np.ndarray]

    def predict(self, model: LogisticRegression) -> np.ndarray:
        """Compute the log-odds of a good value by a fitted model."""
        return model.decision_function(np.column_stack([self.odds, self.features]))


def read_items(name: str, part: str, folder: Path) -> list[LabelledItem]:
    """Read the items of a part that have log-probabilities."""
    kind, stored = KINDS[name], read_stored(folder / f"{name}-{part}.jsonl")
    items = [item for item in kind.read(part, kind.sizes[part]) if item.key in stored]
    if not items:
        sys.exit(f"{name}, {part}: nothing is stored in {folder}; run the step `read` first")
    return items


def build_table(name: str, items: Sequence[LabelledItem], stored: Mapping[str, Mapping[str, float]]) -> Table:
    """Build the columns of items."""
    kind = KINDS[name]
    rows = [[MEASURES[feature](item.case, item.find_part()) for feature in kind.features] for item in items]
    return Table(
        np.array([item.label for item in items]),
        np.array([item.question for item in items]),
        np.array([compute_odds(stored[item.key], kind.worst) for item in items]),
        np.array(rows),
        {rule: np.array([measure(item) for item in items]) for rule, measure in list_rules(name).items()},
    )


def compute_odds(logs: Mapping[str, float], worst: str) -> float:
    """Compute the log-odds of the best of the other values against the worst one, by which the model chooses."""
    return max(log for value, log in logs.items() if value != worst) - logs[worst]


def fit_model(table: Table) -> LogisticRegression:
    """Fit a logistic model to the scaled columns, and return it for the columns as they are."""
    scaler = StandardScaler().fit(np.column_stack([table.odds, table.features]))
    model = LogisticRegression().fit(scaler.transform(np.column_stack([table.odds, table.features])), table.labels)
    model.coef_ = model.coef_ / scaler.scale_
    model.intercept_ = model.intercept_ - model.coef_ @ scaler.mean_
    return model


def fit(name: str, folder: Path) -> dict[str, object]:
    """Fit the calibration of a metric, and print its figures on other questions than it is fitted on.

    A passage is also fitted as the only one of its case: the model sees the same, but nothing can be compared with it.
    """
    kind, stored = KINDS[name], read_stored(folder / f"{name}-dev.jsonl")
    items = read_items(name, "dev", folder)
    alone = [item._replace(case=narrow(item)) for item in items if item.item and len(item.case.chunks or ()) > 1]
    table, learning = build_table(name, items, stored), build_table(name, [*items, *alone], stored)
    predictions, folds = np.zeros(len(items)), split_questions(table.questions)
    for fold in range(FOLDS):
        others = ~np.isin(learning.questions, table.questions[folds == fold])
        model = fit_model(Table(*(column[others] for column in learning[:-1]), {}))
        predictions[folds == fold] = table.predict(model)[folds == fold]
    for way, odds in {"model alone": table.odds, "calibrated": predictions}.items():
        print(f"{name}, {len(odds)} items, {way}: {format_figures(table.labels, odds > 0, odds)}")
    model = fit_model(learning)
    slope, *weights = (round(float(weight), 3) for weight in model.coef_[0])
    metric = load_metric(kind.metric)
    return {
        "metric": kind.metric,
        "definition": compute_fingerprint(metric, {}),
        "value": next(value for value in metric.scale.answer_schema()["enum"] if str(value) == kind.worst),
        "tokens": FIRST_TOKENS[kind.worst],
        "slope": slope,
        "intercept": round(float(model.intercept_[0]), 3),
        "weights": dict(zip(kind.features, weights, strict=True)),
        "data": f"{len(table.labels)} items of {len({*table.questions})} questions: {kind.data}",
        "command": "python benchmarks/calibrate_local.py fit",
        "date": datetime.now(UTC).date().isoformat(),
    }


def narrow(item: LabelledItem) -> Case:
    """Return the case of an item with no other chunk."""
    return item.case.model_copy(update={"chunks": tuple(chunk for chunk in item.case.chunks if chunk.id == item.item)})


def split_questions(questions: np.ndarray) -> np.ndarray:
    """Return the fold of each item; all items of a question are in one."""
    names = [*dict.fromkeys(questions)]
    random.Random(1).shuffle(names)
    folds = {question: number % FOLDS for number, question in enumerate(names)}
    return np.array([folds[question] for question in questions])


def format_figures(labels: np.ndarray, predictions: np.ndarray, scores: np.ndarray) -> str:
    """Format kappa, F1 and the area under the curve."""
    kappa, f1 = cohen_kappa_score(labels, predictions), f1_score(labels, predictions)
    return f"kappa {kappa:.3f}, F1 {f1:.3f}, AUC {roc_auc_score(labels, scores):.3f}"


def test(name: str, folder: Path) -> None:
    """Print the figures of each way to decide on both parts, as rows of a table."""
    tables, dev = {}, build_table(name, read_items(name, "dev", folder), read_stored(folder / f"{name}-dev.jsonl"))
    for part in ("dev", "heldout"):
        items, stored = read_items(name, part, folder), read_stored(folder / f"{name}-{part}.jsonl")
        tables[part] = build_table(name, items, stored)
        for source in sorted({item.source for item in items} - {""}):
            tables[f"{part}, {source}"] = build_table(name, [item for item in items if item.source == source], stored)
    shipped = read_calibrations()[KINDS[name].metric].coefficients
    calibration: Mapping[str, Any] = shipped if KINDS[name].shipped else fit(name, folder)
    for part, table in tables.items():
        weights = np.array([calibration["weights"][feature] for feature in KINDS[name].features])
        calibrated = calibration["slope"] * table.odds + table.features @ weights + calibration["intercept"] > 0
        ways = {"model alone": table.odds > 0, "all good": np.ones_like(table.labels)}
        for rule, numbers in table.rules.items():
            limits = np.unique(dev.rules[rule])
            best = max(limits, key=lambda limit, of=dev.rules[rule]: cohen_kappa_score(dev.labels, of >= limit))
            ways[rule] = numbers >= best
        print_rows(f"{name}, {part}", table, ways, calibrated)


def print_rows(title: str, table: Table, ways: Mapping[str, np.ndarray], calibrated: np.ndarray) -> None:
    """Print kappa and F1 of each way with intervals, and in brackets that of how much higher the calibrated one is."""
    names, places = np.unique(table.questions, return_inverse=True)
    weights = np.random.default_rng(1).multinomial(len(names), np.full(len(names), 1 / len(names)), RESAMPLES)
    # the first row is the sample itself
    weights = np.vstack([np.ones(len(names)), weights])
    best = compute_figures(table.labels, calibrated, places, weights)
    for way, predictions in {"calibrated": calibrated, **ways}.items():
        cells = []
        for ours, figures in zip(best, compute_figures(table.labels, predictions, places, weights), strict=True):
            lead = "" if way == "calibrated" else f" ({evidence.format_interval((ours - figures)[1:])})"
            cells.append(f"{figures[0]:.2f} [{evidence.format_interval(figures[1:])}]{lead}")
        print(f"| {title} | {way} | {' | '.join(cells)} |")


def compute_figures(
    labels: np.ndarray, predictions: np.ndarray, places: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Compute kappa and F1 of each resample from the counts of every question, which a resample weighs."""
    cells = [(labels, predictions), (labels, ~predictions), (~labels, predictions), (~labels, ~predictions)]
    counts = (np.bincount(places, weights=truth & guess, minlength=weights.shape[1]) for truth, guess in cells)
    hits, missed, wrong, right = (weights @ count for count in counts)
    total = hits + missed + wrong + right
    chance = ((hits + missed) * (hits + wrong) + (wrong + right) * (missed + right)) / total
    with np.errstate(invalid="ignore"):
        return (hits + right - chance) / (total - chance), 2 * hits / (2 * hits + missed + wrong)


def list_rules(kind: str) -> dict[str, Callable[[LabelledItem], float]]:
    """List the rules of one line for a kind of item: numbers that need no model, of which a high one means good."""
    length = {"long text": lambda item: measure_lengths(item.case)[item.item]}
    length["short text"] = lambda item: -measure_lengths(item.case)[item.item]
    metrics = {
        name: lambda item, name=name: compute_numbers(find_metric(name), item.case).get(item.item, 0.0)
        for name in WORD_METRICS[kind]
    }
    for feature in KINDS[kind].features:
        metrics[f"{feature} alone"] = lambda item, name=feature: MEASURES[name](item.case, item.find_part())
    if kind == "claims":
        metrics["words in one passage"] = lambda item: max(
            share_words(item.case.answer or "", chunk.text or "") or 0.0 for chunk in item.case.chunks or ()
        )
    if kind == "passages":
        metrics["title in the question"] = lambda item: share_words(item.item or "", item.case.question) or 0.0
    return {**length, **metrics}


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    os._exit(0)  # the model's threads do not end by themselves
