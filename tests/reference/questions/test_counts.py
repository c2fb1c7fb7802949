"""Questions that counts answer: each answer and each gold document is what plain Python counts of the reviews."""

import random
from collections import defaultdict

import pytest
from counted_reviews import BRANDS, FEATURES, PRODUCTS, SCHEMA, CountedIndex, Review
from question_judge import script

from greval.errors import DataError
from greval.reference import Document, IndexSettings, build_index, generate_questions
from greval.reference.questions.counts import COUNT_PATTERNS, CountTable
from greval.reference.questions.facts import IndexText
from greval.reference.questions.records import DraftQuestion

SIGNS = {"praises": "HAS_POSITIVE", "complaints": "HAS_NEGATIVE"}


def write_reviews(number=40, seed=3):
    """Return reviews with random statements."""
    draw = random.Random(seed)
    pairs = [(sign, feature) for sign in SIGNS.values() for feature in FEATURES]
    return [
        Review(f"r{place}", draw.choice([*PRODUCTS]), (*draw.sample(pairs, draw.choice((0, 1, 1, 2))),))
        for place in range(number)
    ]


REVIEWS = write_reviews()


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return the counts of the reviews."""
    index = CountedIndex(tmp_path_factory.mktemp("counted"), REVIEWS)
    text = IndexText.build(index.read_chunks(index.chunk_ids), index.read_entities(), index.read_relations())
    return CountTable(index, index.manifest.graph_schema, text, 0)


def count_plainly(draft):
    """Return the reviews that a question is about, by what it asks for, as its words say it."""
    words = draft.question
    (label,) = (label for noun, label in SIGNS.items() if noun in words)
    names_of = {owner: [review for review in REVIEWS if owner in (review.brand, review.product)] for owner in OWNERS}
    named = [owner for owner in OWNERS if has_name(words, owner)]
    features = [feature for feature in FEATURES if feature in words]
    groups = defaultdict(set)
    by_feature = words.startswith("What")
    kinds = [*PRODUCTS] if "product" in words else [*BRANDS]
    for owner in named or kinds:
        for review in names_of[owner]:
            for sign, feature in review.opinions:
                if sign == label and (not features or feature in features):
                    groups[feature if by_feature else owner].add(review.id)
    return groups


OWNERS = (*PRODUCTS, *BRANDS)


def has_name(words, owner):
    """Return whether a question names a brand or a product; the name of a product holds that of its brand."""
    rest = words
    for product in PRODUCTS:
        if product != owner:
            rest = rest.replace(product, "")
    return owner in rest


@pytest.mark.parametrize("pattern", COUNT_PATTERNS)
def test_answers_and_documents_are_what_python_counts(table, pattern):
    """All questions of a pattern have the counts, the documents and the edges of the reviews that they are about."""
    drafts = [*table.draw(pattern)]
    assert drafts
    for draft in drafts:
        groups = count_plainly(draft)
        assert set(draft.gold.essential_docs) == set().union(*groups.values()), draft.question
        counts = {name: len(reviews) for name, reviews in groups.items()}
        if pattern == "number":
            assert draft.answer == str(sum(counts.values()))
        elif pattern == "look_up":
            assert {draft.answer} == set().union(*groups.values())
        else:
            listed = {
                name: int(number) for name, _, number in (part.partition(": ") for part in draft.answer.split(", "))
            }
            assert all(counts.get(name, 0) == number for name, number in listed.items()), draft.question
            least = min(listed.values())
            # Nothing that is left out has a higher count than what is listed.
            assert pattern == "two_subjects" or all(
                number < least or name in listed for name, number in counts.items()
            ), draft.question
        assert {fact.document for fact in draft.evidence} == set(draft.gold.essential_docs)
        assert not draft.gold.start_nodes or all(
            has_name(draft.question, name) or name in FEATURES for name in draft.gold.start_nodes
        )


def test_other_words_count_alike_only_if_they_ask_for_the_same(table):
    """Politer words change nothing; the opposite, another type or another name does."""
    drawn = next(
        draft for draft in table.draw("top_subjects") if "brand" in draft.question and "praise" in draft.question
    )
    assert table.counts_alike(f"Please tell me: {drawn.question}", drawn)
    (feature,) = (name for name in FEATURES if name in drawn.question)
    other = next(name for name in FEATURES if name != feature)
    for old, new in (("praises", "complaints"), ("brand", "product"), (feature, other), ("praises", "reviews")):
        assert not table.counts_alike(drawn.question.replace(old, new), drawn)


VERBS = {"HAS_POSITIVE": "love the", "HAS_NEGATIVE": "got a poor"}
DOCUMENTS = [
    Document(
        id=review.id,
        text=" ".join(
            [
                "It came on a Monday.",
                *(
                    f"I {'love' if sign == 'HAS_POSITIVE' else 'got a poor'} {feature}."
                    for sign, feature in review.opinions
                ),
            ]
        ),
        tags={"brand": review.brand, "product": review.product},
    )
    for review in REVIEWS
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return the folder of an index of the reviews as texts."""
    folder = tmp_path_factory.mktemp("reviews")
    (folder / "schema.yaml").write_text(SCHEMA, encoding="utf-8")
    settings = IndexSettings(embedding="tfidf", schema_file=str(folder / "schema.yaml"))
    build_index(DOCUMENTS, folder / "index", settings)
    return folder / "index"


def test_types_and_patterns_have_the_shares_that_are_asked_for(folder, tmp_path):
    """A pattern that is named has its own share, and its type draws none of it."""
    report = generate_questions(
        folder, tmp_path / "q.jsonl", 12, types={"top_objects": 1, "number": 2, "aggregation": 3}
    )
    assert report.accepted == {"top_objects": 2, "number": 4, "aggregation": 6}
    lines = (tmp_path / "q.drafts.jsonl").read_text(encoding="utf-8").splitlines()
    patterns = [DraftQuestion.model_validate_json(line).pattern for line in lines[:12]]
    assert patterns.count("top_objects") == 2
    assert patterns.count("number") == 4


@pytest.mark.parametrize("types", [{"number": 0}, {"number": float("nan")}, ["counts"], []])
def test_a_share_that_is_none_is_refused(folder, tmp_path, types):
    with pytest.raises(DataError, match="types"):
        generate_questions(folder, tmp_path / "q.jsonl", 4, types=types)


def test_a_wording_that_changes_the_count_is_left_out(folder, tmp_path):
    """The index counts what a model's words ask for; nobody is asked to answer a count from a few chunks."""
    model, _ = script(wording=lambda _: {"question": "What is it that Volta has?", "answer": "battery"})
    report = generate_questions(folder, tmp_path / "q.jsonl", 1, types=["top_objects"], model=model)
    assert set(report.rejected) <= {"changed_count", "changed_names"}
    assert not report.accepted["top_objects"]
    model, asked = script()
    report = generate_questions(folder, tmp_path / "worded.jsonl", 2, types=["top_objects"], model=model)
    assert report.accepted == {"top_objects": 2}
    assert sorted(asked.requests) == ["recall", "recall", "wording", "wording"]
