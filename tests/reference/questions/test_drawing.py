"""Questions that are drawn from an index: gold by construction, and nothing that is not sure."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from question_worlds import FLEET, build_fleet, read_text

from greval import read_cases, read_inventory
from greval.analysis import check_gold
from greval.errors import DataError
from greval.reference import generate_questions
from greval.reference.questions.facts import has_phrase, list_facts
from greval.reference.questions.records import NOT_STATED, QUESTION_TYPES, DraftQuestion


@pytest.fixture(scope="module")
def fleet(tmp_path_factory):
    return build_fleet(tmp_path_factory.mktemp("fleet"))


def draw(fleet, tmp_path, count=40, **options):
    """Generate questions, and return the report with the drafts."""
    report = generate_questions(fleet, tmp_path / "q.jsonl", count, **options)
    lines = (tmp_path / "q.drafts.jsonl").read_text(encoding="utf-8").splitlines()
    return report, [DraftQuestion.model_validate_json(line) for line in lines]


def test_every_type_is_drawn_with_its_answer(fleet, tmp_path):
    """A small world gives the questions of each type that a reader would expect of it."""
    _, drafts = draw(fleet, tmp_path)
    answers = {(each.type, each.question): each.answer for each in drafts if each.rejected is None}
    assert answers["single_fact", "Who or what is led by Ines Marrow?"] == "Team Petrel"
    assert answers["single_fact", "Where was Bramble built?"] == "Saltness"
    assert answers["multi_hop", "Black Tansy is owned by X. Who or what is X led by?"] == "Ines Marrow"
    assert answers[
        "aggregation", "How many different things are owned by Team Petrel, according to the documents?"
    ] == ("2: Black Tansy, Bramble")
    assert any(kind == "comparison" and answer.startswith("Yes") for (kind, _), answer in answers.items())
    assert any(kind == "comparison" and answer.startswith("No") for (kind, _), answer in answers.items())
    assert answers["temporal", "Grey Gull was painted in which year?"] == "1921"
    assert NOT_STATED in {answer for (kind, _), answer in answers.items() if kind == "unanswerable"}


def test_gold_is_that_of_the_evidence(fleet, tmp_path):
    """Essential documents, edges, nodes and start nodes of a chain are those of its two sentences."""
    _, drafts = draw(fleet, tmp_path, types=["multi_hop"])
    chain = next(each for each in drafts if each.question.startswith("Black Tansy is owned by X"))
    assert chain.gold.essential_docs == ("tansy", "teams")
    assert chain.gold.expected_edges == (
        ("Black Tansy", "is owned by", "Team Petrel"),
        ("Team Petrel", "is led by", "Ines Marrow"),
    )
    assert set(chain.gold.expected_nodes) == {"Black Tansy", "Team Petrel", "Ines Marrow"}
    assert chain.gold.start_nodes == ("Black Tansy",)


def test_the_file_is_read_as_samples_and_its_gold_fits_the_index(fleet, tmp_path):
    """`read_cases` reads every row, and the gold has no fault against the inventory of the index."""
    report, drafts = draw(fleet, tmp_path)
    cases = list(read_cases(tmp_path / "q.jsonl"))
    assert len(cases) == sum(report.accepted.values()) == sum(each.rejected is None for each in drafts)
    assert {case.tags["query_type"] for case in cases} <= {*QUESTION_TYPES}
    assert not [each for each in check_gold(cases, read_inventory(fleet)) if each.level == "fault"]
    assert len({case.id for case in cases}) == len(cases)


def test_accepted_questions_keep_the_promises_of_the_checks(fleet, tmp_path):
    """The evidence stands in its document, holds a name that is the answer, and the question does not quote it."""
    _, drafts = draw(fleet, tmp_path)
    for each in (draft for draft in drafts if draft.rejected is None):
        assert all(fact.sentence in FLEET[fact.document] for fact in each.evidence)
        if not each.fixed_answer:
            assert any(has_phrase(FLEET[document], each.answer) for document in each.documents)
            assert not has_phrase(each.question, each.answer)


def test_what_is_left_out_is_counted_and_kept_with_its_reason(fleet, tmp_path):
    """Drawn questions are accepted or rejected; two ships are owned by one team, so neither is the only answer."""
    report, drafts = draw(fleet, tmp_path)
    assert sum(report.drawn.values()) == len(drafts)
    assert sum(report.rejected.values()) == len(drafts) - sum(report.accepted.values())
    refused = {each.question: each.rejected for each in drafts if each.rejected}
    assert refused["Who or what is owned by Team Petrel?"] == "several_answers"


def test_one_seed_draws_the_same_questions(fleet, tmp_path):
    """The file depends on index, seed and settings alone."""
    files = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        generate_questions(fleet, tmp_path / f"{name}.jsonl", 12, seed=seed)
        files.append((tmp_path / f"{name}.jsonl").read_bytes())
    assert files[0] == files[1] != files[2]


def test_types_are_balanced_and_the_count_is_kept(fleet, tmp_path):
    """With enough of two types, each has half of the questions."""
    report, _ = draw(fleet, tmp_path, 4, types=["single_fact", "aggregation"])
    assert report.accepted == {"single_fact": 2, "aggregation": 2}


def test_coverage_counts_what_the_questions_touch(fleet, tmp_path):
    """The totals are those of the index, and all questions together touch no more."""
    report, _ = draw(fleet, tmp_path)
    text = read_text(fleet)
    totals = (report.documents.total, report.entities.total, report.relations.total)
    assert totals == (len(FLEET), len(text.entities), len(text.relations))
    assert 4 <= report.documents.touched <= len(FLEET)


def test_sentences_that_point_out_of_themselves_are_no_facts(tmp_path):
    """A pronoun for something else, speech, and a word that only begins sentences make no fact."""
    told = {
        "a": "Black Tansy gave it to them in Lumm. However was built in Lumm. At night Black Tansy rests in Lumm.",
        "b": 'Black Tansy was called "the ship" in Lumm by everyone. Black Tansy said nothing of Lumm.',
    }
    assert list_facts(read_text(build_fleet(tmp_path / "index", told))) == []


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("Aunt Katy passed the summer and fall in Lumm.", ["passed the summer and fall in Lumm"]),
        ("Aunt Katy painted seven wooden boats and fell asleep.", ["painted seven wooden boats"]),
        ("Aunt Katy carried seven apples home with a sweet, trusting smile.", []),
        ("Aunt Katy isn't owned by anybody in Lumm.", []),
        ("Aunt Katy was known to both Lumm fishermen; all others left.", []),
    ],
)
def test_a_clause_ends_where_its_meaning_does(tmp_path, sentence, clauses):
    """Two nouns are no verb, and what the end of a clause cuts off or turns around is not asked about."""
    told = {"a": f"{sentence} At night Aunt Katy rests in Lumm. The boat of Aunt Katy is old."}
    facts = list_facts(read_text(build_fleet(tmp_path / "index", told)))
    assert [each.clause for each in facts if each.sentence == sentence] == clauses


def test_directions_of_a_play_are_not_asked_about(tmp_path):
    """Names of those who speak are in capitals, and sentences with them tell what the actors do."""
    told = {"a": "BLORE carried seven yellow books. They saw BLORE there, and BLORE, but we met Blore in Lumm."}
    assert list_facts(read_text(build_fleet(tmp_path / "index", told))) == []


def test_a_pronoun_stands_for_the_name_of_the_sentence_before(tmp_path):
    """The word "It" is the entity with which the sentence before begins, and nothing else."""
    told = {
        "a": "Black Tansy sails at nine. It is owned by Team Petrel. At noon Team Petrel waits for Black Tansy.",
        "b": "The wind turned. It is owned by Team Petrel.",
    }
    facts = [each for each in list_facts(read_text(build_fleet(tmp_path / "index", told))) if each.predicate]
    assert [(each.subject, each.clause, each.document) for each in facts] == [
        ("Black Tansy", "is owned by Team Petrel", "a")
    ]


def draw_from(folder, told, **options):
    """Return the questions that are drawn from texts, and their answers."""
    _, drafts = draw(build_fleet(folder / "index", told), folder, **options)
    return {each.question: each.answer for each in drafts if each.rejected is None}


LINCOLN = {
    "war": "Port Lumm was taken by Lincoln. In May Port Lumm was burned down. Nobody in Port Lumm met Abraham Lincoln.",
    "law": "Lincoln was asked by a clerk of Port Lumm for advice. He went with Lincoln into Lincoln's Inn.",
}


@pytest.mark.parametrize(
    ("added", "is_counted"),
    [
        ("", True),
        ("The ships of Port Lumm Bay came home.", False),  # of no other document is it known whether it means the port
        ("The ships of Lumm came home.", False),
        ("The lumm is a bird.", True),
    ],
)
def test_documents_are_counted_that_mention_a_thing(tmp_path, added, is_counted):
    """A name counts where it stands as a whole; a part of it, or a longer name, leaves open what a document means."""
    told = {**LINCOLN, **({"added": added} if added else {})}
    answers = draw_from(tmp_path, told, types=["aggregation"])
    question = "In how many of the documents is Port Lumm mentioned by name?"
    assert answers.get(question) == ("2: law, war" if is_counted else None)
    assert not any("Lincoln" in each for each in answers)


def test_people_of_one_first_name_are_not_joined(tmp_path):
    """Two documents may speak of two people; of one document, a first name means one person."""
    first = "Tom mended his boat in Saltness harbour. At night Tom rests."
    second = "Tom painted his cabin in yellow colours. At noon Tom rests."
    question = "mended his boat in Saltness harbour, and also painted"
    apart = draw_from(tmp_path / "apart", {"a": first, "b": second}, types=["multi_hop"])
    together = draw_from(tmp_path / "together", {"a": f"{first} {second}"}, types=["multi_hop"])
    assert (any(question in each for each in apart), any("cabin" in each for each in together)) == (False, True)


@pytest.mark.parametrize("other", ["a native of Port Lumm", "a niece of Uncle Tom"])
def test_a_name_stands_for_another_one_if_that_makes_sense(tmp_path, other):
    """Nobody is a friend of a place, and of whom a friend may be told is what the texts say with these words."""
    told = {
        "a": f"Aunt Katy was a fast friend of Uncle Dan. Aunt Fillis was {other}.",
        "b": "Black Tansy was painted in Saltness. Grey Gull was built in Port Lumm.",
        "c": "We met Uncle Dan, Uncle Tom, Aunt Katy and Aunt Fillis in Port Lumm. Here Grey Gull met Black Tansy.",
    }
    answers = draw_from(tmp_path, told, types=["unanswerable"])
    assert any(question.endswith("built in Saltness?") for question in answers)
    assert not any("friend of" in question for question in answers)


def test_a_fact_is_asked_about_in_two_ways_at_most(tmp_path):
    """More questions with the same answer from one sentence are near-duplicates, and a changed name makes a copy."""
    acts = ["mended broken yellow boats", "painted seven wooden cabins", "planted little apple trees"]
    told = " ".join(f"Aunt Katy {act}." for act in acts)
    _, drafts = draw(build_fleet(tmp_path / "index", {"a": f"{told} In winter Aunt Katy rests."}), tmp_path)
    accepted = [each for each in drafts if each.rejected is None]
    uses = Counter(fact.sentence for each in accepted for fact in each.evidence)
    assert (len(uses), max(uses.values())) == (3, 2)


def test_an_object_is_what_its_verb_has(tmp_path):
    """A sentence whose verb needs more than its object is asked about as a whole; a gesture is not asked about."""
    told = {"a": "Aunt Katy carried Suza by the hand in Lumm. Aunt Katy glanced at Suza. At night Suza saw Aunt Katy."}
    facts = list_facts(read_text(build_fleet(tmp_path / "index", told)))
    assert [each.clause for each in facts] == ["carried Suza by the hand in Lumm"]


def test_persons_with_different_titles_are_two(tmp_path):
    """A name with a title is the answer, and its gold is the entity of the graph; one title more makes no two of it."""
    told = {"a": "Mr. Elton painted the harbour of Lumm. They say Mr. Elton met Mrs. Elton. She sang in Lumm."}
    _, drafts = draw(build_fleet(tmp_path / "index", told), tmp_path)
    draft = next(each for each in drafts if each.question == "Who painted the harbour of Lumm?")
    assert (draft.answer, draft.answers, draft.gold.expected_nodes[0]) == ("Mr. Elton", (), "Elton")


@pytest.mark.parametrize(
    ("sentence", "clauses"),
    [
        ("It was late; Aunt Katy painted the harbour of Lumm.", ["painted the harbour of Lumm"]),
        ("Aunt Katy, tired of waiting, painted the harbour of Lumm.", ["painted the harbour of Lumm"]),
        ("He said that it was late; Aunt Katy painted the harbour of Lumm.", []),
        ("Aunt Katy could paint seven wooden harbours.", []),
        ("Aunt Katy followed her to the harbour of Lumm.", []),
        ("Aunt Katy was pleasantly surprised yesterday morning.", []),
    ],
)
def test_a_part_of_a_sentence_states_a_fact(tmp_path, sentence, clauses):
    """A part that depends on what precedes it states none, nor do possibilities, other women and moods."""
    told = {"a": f"{sentence} At night Aunt Katy rests in Lumm. They walk, and Aunt Katy sleeps."}
    facts = list_facts(read_text(build_fleet(tmp_path / "index", told)))
    assert [each.clause for each in facts if each.sentence == sentence] == clauses


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"types": ["riddle"]}, "types: riddle unknown"),
        ({"types": []}, "expected at least one"),
        ({"count": 0}, "expected at least one"),
        ({"out": "q.csv"}, r"q.csv: expected a file that ends in .jsonl"),
    ],
)
def test_wrong_arguments_are_named(fleet, tmp_path, monkeypatch, options, message):
    """A wrong argument ends with an error that says what was expected, before anything is written."""
    monkeypatch.chdir(tmp_path)
    arguments = {"out": "q.jsonl", "count": 3, **options}
    with pytest.raises(DataError, match=message):
        generate_questions(fleet, **arguments)
    assert not [*tmp_path.iterdir()]


@given(st.text(max_size=40), st.text(max_size=20))
def test_a_phrase_is_found_only_if_its_letters_are_there(text, phrase):
    """Whatever the texts, a phrase that is found has all of its words in the text, in their order."""
    if phrase.split() and has_phrase(text, phrase):
        assert "".join(phrase.split()).casefold()[:1] in "".join(text.split()).casefold()
