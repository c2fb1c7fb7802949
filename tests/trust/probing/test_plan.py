"""Source cases, references and mutants of a probe."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from probed_judges import (
    CHUNKS,
    RIGHT,
    USEFUL,
    cases,
    judge,
)

from greval.records.case import Case
from greval.trust.probing.api import probe
from greval.trust.probing.checks import CHECKS, CheckContext
from greval.trust.probing.mutations import iter_texts
from greval.trust.probing.plan import (
    MAIN,
    MIN_POOL,
    OTHER_ORDER,
    build_references,
    iter_demo_cases,
    plan_mutants,
    read_source_cases,
    tag_case,
)


def test_odd_cases_do_no_harm(tmp_path):
    """Rows that are no cases, doubles, broken responses and a lone case are told, and none is left out quietly."""
    rows = [
        {"nothing": 1},
        cases(1)[0],
        cases(1)[0],
        Case(id="e", question="?", error="down"),
        Case(id="n", question="?"),
    ]
    result = probe(RIGHT, judge(), rows, out=tmp_path / "run", repeats=1)
    assert result.cases == 1
    assert len(result.unread) == 2
    assert "q0 is at cases, row 2 already" in result.unread[1]
    assert result.left_out == {
        "its method gave no response": 1,
        "expected_answer is not recorded; answer is not recorded": 1,
    }
    by_name = {check.name: check for check in result.checks}
    assert by_name["contradicted"].unused == {"there is no other question to take content from": 1}
    assert by_name["empty"].killed == 1


def test_the_pool_is_larger_than_the_cases():
    """Only the first cases are probed, and content of other questions is taken from up to two hundred."""
    rows = [{"id": f"q{n}", "question": f"{n}?", "expected_answer": "1", "answer": "1"} for n in range(MIN_POOL + 9)]
    source = read_source_cases(rows, RIGHT, 3)
    assert [case.id for case in source.cases] == ["q0", "q1", "q2"]
    assert len(source.pool) == MIN_POOL


def test_shipped_cases_are_good_and_differ():
    """Each shipped case has an answer and its sources, and no question comes twice."""
    shipped = [*iter_demo_cases()]
    assert len({case.question for case in shipped}) == len({case.id for case in shipped}) == len(shipped) > 10
    assert all(case.answer and case.chunks and case.triples for case in shipped)


def test_content_of_another_question_is_taken_only_if_it_is_used():
    """Without a check that compares with another question, a case has one reference and costs one call less."""
    source = cases(3)
    alone = build_references(source, source, RIGHT, [CHECKS["empty"]])
    both = build_references(source, source, RIGHT, [CHECKS["empty"], CHECKS["injected"]])
    assert [[*base.references] for base in alone] == [["unchanged"]] * 3
    assert [[*base.references] for base in both] == [["unchanged", "other"]] * 3
    for base in both:
        assert [*iter_texts(base.references["other"], "answer")] != [*iter_texts(base.original, "answer")]
        assert base.references["other"].question == base.original.question


@given(st.integers(1, 5), st.integers(1, 5), st.sampled_from([RIGHT, CHUNKS, USEFUL]))
def test_mutants_have_keys_of_their_own(count, mutants, metric):
    """Before anything is judged each reference is usable, and each planned mutant has one key and one pair."""
    source = cases(count)
    checks = [check for check in CHECKS.values() if not check.unfit(CheckContext(metric))]
    bases = build_references(source, source, metric, checks)
    plan = plan_mutants(bases, metric, checks, None, mutants=mutants)
    ids = [case.id for case in plan.cases]
    assert len(ids) == len(set(ids))
    afters = [pair.after for pair in plan.pairs if pair.after[0] == MAIN and pair.variant != "other question"]
    assert sorted(key[1] for key in afters) == sorted(ids)
    assert {pair.sample_id for pair in plan.pairs} == {case.id for case in source}
    assert all(pair.after == (OTHER_ORDER, *pair.before[1:]) for pair in plan.pairs if pair.check == "category_order")


def test_a_tagged_case_names_its_origin():
    """A mutant has an id of its own, and its tags name the fault, the variant and the case it was made from."""
    (case,) = cases(1)
    mutant = tag_case(case, case.id, "padded", "after")
    assert mutant.id == "q0~padded-after"
    assert mutant.tags == {"probe": "padded", "of": "q0", "variant": "after"}
    assert tag_case(case, case.id, "unchanged").tags == {"probe": "unchanged", "of": "q0"}
