"""Data of our own making in the form of the published data sets that tests use, with figures of other packages.

Each writer fills the folder of one data set with its files. What tests compare with, `reference.json` and the like,
is computed by statsmodels, scipy, pytrec_eval or plain formulas, never by greval.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytrec_eval
from pyarrow import parquet
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar

QUESTIONS = 60
NAMES = ("correct", "incorrect")
JUDGES = {"judge_gpt4": 0.97, "judge_davinci003": 0.95, "judge_bem": 0.93}
"""How often each made-up judge is right on questions that are not hard."""
HARD, RIGHT_ON_HARD = 0.1, 0.6
ASPECTS = ("correctness", "completeness", "overall")
SYSTEMS = {"vectordb": 0.25, "lightrag_local": 0.4, "graphrag_nano_local": 0.6, "fast_graphrag": 0.97}
"""How often each made-up system finds each of a question's documents."""
CUTS = (2, 5, 8)


def write_jsonl(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")


def write_judgments(folder: Path) -> None:
    """Write answers with the labels of three annotators and three judges, and twelve systems judged by people."""
    rng, rows = random.Random(1), []
    for question in range(QUESTIONS):
        hard, share = rng.random() < HARD, rng.choice((0.1, 0.5, 0.9))  # answers to one question are alike
        for _ in range(5):
            right = rng.random() < share
            seen = "Yes" if right else "No"
            first, second = (seen if rng.random() < 0.93 else rng.choice(("Yes", "No")) for _ in "ab")
            third = rng.choice(("Yes", "No")) if first != second else None
            human = {"Yes": "correct", "No": "incorrect"}[third or first]
            verdicts = {
                name: human if rng.random() < (RIGHT_ON_HARD if hard else accuracy) else NAMES[human == "correct"]
                for name, accuracy in JUDGES.items()
            }
            rows.append(
                {
                    "id": f"own-{len(rows)}",
                    "question_id": question,
                    "question": f"What is the code of device {question}?",
                    "gold_answers": [f"D-{question}", f"device {question}"],
                    "answer": f"It is {'D' if right else 'E'}-{question}{'.' * rng.randrange(9)}",
                    "human": human,
                    **{f"annotator{n}": told for n, told in enumerate((first, second, third), 1)},
                    **verdicts,
                }
            )
    for place in (7, 100):
        rows[place]["judge_gpt4"] = None
    write_jsonl(folder / "judgments.jsonl", rows)
    shares = np.linspace(0.3, 0.7, 12)  # far enough from 0 and 1 that each pair has a dozen discordant questions
    known: dict[str, list[bool | None]] = {
        f"system-{n}": [rng.random() < share for _ in range(45)] for n, share in enumerate(shares)
    }
    known["system-3"][5] = None
    write_jsonl(
        folder / "systems.jsonl",
        (
            {"question_id": n, "system": name, "human": None if one is None else NAMES[not one]}
            for name, right in known.items()
            for n, one in enumerate(right)
        ),
    )
    pairs = [compare_pair(a, b, known[a], known[b]) for a, b in combinations(known, 2)]
    pairs_of = Counter((row["annotator1"], row["annotator2"]) for row in rows)
    reference = {
        "judgments": {name: agreement_of(rows, name) for name in JUDGES},
        "inter_annotator": {
            "n": len(rows),
            "kappa": cohens_kappa([[pairs_of[a, b] for b in ("Yes", "No")] for a in ("Yes", "No")]),
            "raw_agreement": np.mean([row["annotator1"] == row["annotator2"] for row in rows]),
        },
        "mcnemar_human": [{**pair, "exact_p_bonferroni": min(1, len(pairs) * pair["exact_p"])} for pair in pairs],
    }
    write_json(folder / "reference.json", reference)


def agreement_of(rows: Iterable[Mapping[str, object]], judge: str) -> dict[str, object]:
    """Return the figures of a judge against people, by their formulas from the four counts."""
    counts = Counter((row["human"], row[judge]) for row in rows if row[judge])
    table = [[counts[truth, given] for given in NAMES] for truth in NAMES]
    precision = {name: table[n][n] / (table[0][n] + table[1][n]) for n, name in enumerate(NAMES)}
    recall = {name: table[n][n] / sum(table[n]) for n, name in enumerate(NAMES)}
    f1 = {name: 2 / (1 / precision[name] + 1 / recall[name]) for name in NAMES}
    return {
        "n": counts.total(),
        "accuracy": (table[0][0] + table[1][1]) / counts.total(),
        "kappa": cohens_kappa(table),
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "macro_f1": sum(f1.values()) / len(NAMES),
        "confusion_rows_human_cols_judge_correct_incorrect": table,
    }


def cohens_kappa(table: Sequence[Sequence[int]]) -> float:
    """Return Cohen's kappa (1960) of a table of two categories."""
    total = sum(map(sum, table))
    seen = (table[0][0] + table[1][1]) / total
    chance = sum(sum(table[n]) * (table[0][n] + table[1][n]) for n in (0, 1)) / total**2
    return (seen - chance) / (1 - chance)


def compare_pair(a: str, b: str, left: Iterable[bool | None], right: Iterable[bool | None]) -> dict[str, object]:
    """Return statsmodels' tests of McNemar of two systems, on questions where both are known."""
    table = np.zeros((2, 2), dtype=int)
    for one, other in zip(left, right, strict=True):
        if one is not None and other is not None:
            table[1 - one, 1 - other] += 1
    only_a, only_b = map(int, (table[0, 1], table[1, 0]))
    corrected = mcnemar(table, exact=False, correction=True)
    return {
        "a": a,
        "b": b,
        "n": int(table.sum()),
        "both": int(table[0, 0]),
        "only_a": only_a,
        "only_b": only_b,
        "neither": int(table[1, 1]),
        "exact_p": mcnemar(table, exact=True).pvalue,
        # on an even split the correction would overshoot: the statistic is 0
        "chi2_cc": corrected.statistic if only_a != only_b else 0.0,
        "chi2_cc_p": corrected.pvalue if only_a != only_b else 1.0,
    }


def write_pairs(folder: Path) -> None:
    """Write pairs of answers with the differences that two people and a judge see."""
    rng, rows = random.Random(2), []
    for n in range(40):
        seen = {aspect: rng.choice((-2, -1, 0, 1, 2)) for aspect in ASPECTS}
        rows.append(
            {
                "id": f"pair-{n}",
                "human": {
                    aspect: [max(-2, min(2, one + rng.choice((-1, 0, 0, 0, 1)))) for _ in "ab"]
                    for aspect, one in seen.items()
                },
                "judge_ragchecker": {aspect: [0.5, 0.5 + one / 4 + rng.gauss(0, 0.2)] for aspect, one in seen.items()},
            }
        )
    write_jsonl(folder / "pairs.jsonl", rows)
    reference = {}
    for aspect in ASPECTS:
        people = [[row["human"][aspect][n] for row in rows] for n in (0, 1)]
        judge = [row["judge_ragchecker"][aspect][1] - row["judge_ragchecker"][aspect][0] for row in rows]
        reference[aspect] = {
            "judge_delta_vs_human_pearson": stats.pearsonr(judge * 2, people[0] + people[1])[0],
            "judge_delta_vs_human_spearman": stats.spearmanr(judge * 2, people[0] + people[1])[0],
            "annotators_pearson": stats.pearsonr(*people)[0],
        }
    write_json(folder / "reference.json", reference)


def write_systems(folder: Path) -> None:
    """Write what four systems retrieved for questions of one or two hops."""
    rng, rows = random.Random(3), []
    for n in range(40):
        gold = [f"Page {n}.{part}" for part in range(rng.choice((2, 2, 4)))]
        retrieved = {}
        for system, share in SYSTEMS.items():
            found = [title for title in gold if rng.random() < share**0.5]
            titles = [*found, *(f"Other {one}" for one in rng.sample(range(99), 8 - len(found)))]
            rng.shuffle(titles)
            retrieved[system] = titles
        rows.append(
            {
                "id": f"own-{n}",
                "question": f"Question {n}?",
                "gold_titles": gold,
                "multihop": n % 4 > 0,
                "retrieved": retrieved,
            }
        )
    write_jsonl(folder / "questions.jsonl", rows)
    qrels = {row["id"]: dict.fromkeys(row["gold_titles"], 1) for row in rows}
    measures = {f"recall.{','.join(map(str, (*CUTS, 10)))}", "recip_rank", "ndcg_cut.10"}
    evaluator, perfect, reference = pytrec_eval.RelevanceEvaluator(qrels, measures), {}, {}
    for system in SYSTEMS:
        run = {
            row["id"]: {title: float(-place) for place, title in enumerate(row["retrieved"][system])} for row in rows
        }
        found = evaluator.evaluate(run)
        perfect[system] = [found[row["id"]]["recall_10"] == 1 for row in rows]
        mean = {name: np.mean([one[name] for one in found.values()]) for name in next(iter(found.values()))}
        hops = [one for one, row in zip(perfect[system], rows, strict=True) if row["multihop"]]
        reference[system] = {
            "published_all": np.mean(perfect[system]),
            "perfect_retrieval_multihop": np.mean(hops),
            "ndcg_at_10_binary": mean["ndcg_cut_10"],
            "mrr": mean["recip_rank"],
            **{f"recall_at_{cut}": mean[f"recall_{cut}"] for cut in CUTS},
        }
    pairs, intervals = [], {}
    for a, b in combinations(SYSTEMS, 2):
        pair = compare_pair(a, b, perfect[a], perfect[b])
        pairs.append({**pair, "exact_p_bonferroni6": min(1, 6 * pair["exact_p"])})
        gaps = np.array(perfect[b], dtype=float) - np.array(perfect[a], dtype=float)
        found = stats.bootstrap((gaps,), np.mean, n_resamples=20_000, method="percentile", rng=np.random.default_rng(4))
        intervals[f"{b}-{a}"] = {"diff": gaps.mean(), "ci": [*found.confidence_interval]}
    content = {"systems": reference, "mcnemar": pairs, "paired_bootstrap_diff_95_B100000": intervals}
    write_json(folder / "reference.json", content)


def write_mcnemar(folder: Path) -> None:
    """Write tables whose exact figures are worked out by hand from binomial coefficients."""
    by_hand = [
        ("one against five", 1, 5, {"p_exact": 14 / 64, "p_mid": 8 / 64, "chi2_cc": 9 / 6}),
        ("none against six", 0, 6, {"p_exact": 2 / 64, "p_mid": 1 / 64, "chi2_cc": 25 / 6}),
        ("two against eight", 2, 8, {"p_exact": 112 / 1024, "p_mid": 67 / 1024, "chi2_cc": 2.5}),
        ("ten against forty", 10, 40, {"chi2_cc": 16.82}),
    ]
    cases = []
    for name, only_a, only_b, published in by_hand:
        table = [[7, only_a], [only_b, 7]]
        exact, corrected = mcnemar(table, exact=True).pvalue, mcnemar(table, exact=False, correction=True)
        middle = stats.binom.pmf(only_a, only_a + only_b, 0.5)
        theirs = {
            "chi2_cc": corrected.statistic,
            "p_cc": corrected.pvalue,
            "p_exact": exact,
            "p_mid": exact - middle,
        }
        cases.append({"name": name, "only_a": only_a, "only_b": only_b, "published": published, "statsmodels": theirs})
    write_json(folder / "mcnemar_cases.json", cases)


def write_graphrag(folder: Path) -> None:
    """Write tables of an index in the schemas of GraphRAG 2 and 3; one edge of the latter leads nowhere."""
    names = [f"NODE {n}" for n in range(8)]
    reference = {}
    for schema, dangling in (("v2_dulce", 0), ("v3_dulce", 1)):
        documents = [
            {"document_ids": [f"d{n // 2}"]} if dangling == 0 else {"document_id": f"d{n // 2}"} for n in range(6)
        ]
        units = [{"id": f"u{n}", "text": f"Text {n}.", **document} for n, document in enumerate(documents)]
        ends = [*pairwise(names), *([(names[0], "NOWHERE")] if dangling else [])]
        tables = {
            "documents": [{"id": f"d{n}", "title": f"{n}.txt", "text_unit_ids": [f"u{2 * n}"]} for n in range(3)],
            "text_units": units,
            "entities": [
                {"id": f"e{n}", "title": name, "text_unit_ids": [f"u{n % 6}"]} for n, name in enumerate(names)
            ],
            "relationships": [
                {
                    "id": f"r{n}",
                    "source": a,
                    "target": b,
                    "description": f"{a} leads to {b}",
                    "text_unit_ids": [f"u{n % 6}"],
                }
                for n, (a, b) in enumerate(ends)
            ],
        }
        (folder / schema).mkdir()
        for name, rows in tables.items():
            parquet.write_table(pa.Table.from_pylist(rows), folder / schema / f"{name}.parquet")
            reference[f"{schema}/{name}.parquet"] = {"rows": len(rows)}
        reference[f"integrity:{schema}"] = {"relationships_with_unknown_endpoint": dangling}
    write_json(folder / "reference.json", reference)


def write_lightrag(folder: Path) -> None:
    """Write the key-value stores of LightRAG for three documents."""
    status, entities, relations = {}, {}, {}
    for n in range(3):
        names = [f"Name {one}" for one in range(2 * n, 2 * n + 4)]  # neighbours share two
        status[f"doc-{n}"] = {
            "chunks_list": [f"c{n}-{m}" for m in range(n + 2)],
            "chunks_count": n + 2,
            "file_path": f"{n}.txt",
        }
        entities[f"doc-{n}"] = {"entity_names": names, "count": len(names)}
        relations[f"doc-{n}"] = {"relation_pairs": [*map(list, pairwise(names))], "count": 3}
    for name, rows in (("doc_status", status), ("full_entities", entities), ("full_relations", relations)):
        write_json(folder / f"kv_store_{name}.json", rows)


def write_novels(folder: Path) -> None:
    """Write questions of novels with evidence and triples."""
    rows = (
        {
            "id": f"Novel-{n}",
            "source": "Novel-1",
            "question_type": "Fact Retrieval",
            "question": f"What is in room {n}?",
            "expected_answer": f"the lamp {n}",
            "evidence": [f"The lamp {n} is in room {n}."],
            "evidence_triples_raw": f"(lamp {n},is in,room {n})",
            "evidence_triples": [[f"lamp {n}", "is in", f"room {n}"]],
            "n_unparsed_triples": 0,
        }
        for n in range(12)
    )
    write_jsonl(folder / "questions.jsonl", rows)


def write_hops(folder: Path) -> None:
    """Write questions over several passages, with their supporting sentences."""
    rows = (
        {
            "id": f"hop{n}",
            "question": f"Where does the maker of lamp {n} live?",
            "answer": f"in town {n}",
            "type": "bridge",
            "level": "easy",
            "passages": [{"title": f"Lamp {n}", "sentences": [f"Ada made lamp {n}.", f" She lives in town {n}."]}],
            "supporting_facts": [[f"Lamp {n}", 0], [f"Lamp {n}", 1]],
        }
        for n in range(9)
    )
    write_jsonl(folder / "questions.jsonl", rows)


def write_trec(folder: Path) -> None:
    """Write judged documents and a run with ties and documents that nobody judged, and what trec_eval makes of them."""
    rng = random.Random(5)
    run: dict[str, dict[str, float]] = {}
    binary: dict[str, dict[str, int]] = defaultdict(dict)
    graded: dict[str, dict[str, int]] = defaultdict(dict)
    for n in range(4):
        question = f"{301 + n}"
        documents = [f"D{n}-{m:02}" for m in range(40)]
        run[question] = {one: rng.randrange(12) / 4 for one in rng.sample(documents, 30 - n)}
        for one in rng.sample(documents, 28):
            grade = rng.choice((-1, 0, 0, 0, 1, 2, 3)) if n < 3 else rng.choice((0, 0, 3))
            binary[question][one], graded[question][one] = int(grade > 0), grade
    lines = [
        f"{q} Q0 {one} {n} {score:.2f} OWN" for q, found in run.items() for n, (one, score) in enumerate(found.items())
    ]
    (folder / "results.test").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for qrels, name, level, length, expected in (
        (binary, "qrels.test", 1, 10, "expected_binary.csv"),
        (graded, "qrels.rel_level", 2, 20, "expected_graded_l2.csv"),
    ):
        judged = [f"{q} 0 {one} {grade}" for q, grades in qrels.items() for one, grade in grades.items()]
        (folder / name).write_text("\n".join(judged) + "\n", encoding="utf-8")
        evaluator = pytrec_eval.RelevanceEvaluator(dict(qrels), pytrec_eval.supported_measures, relevance_level=level)
        found = evaluator.evaluate(run)
        for question, values in found.items():
            values.update(interpolate(run[question], qrels[question], level))
        names = [one for one in found["301"] if one not in {"runid", "relstring", "num_q", "gm_map", "gm_bpref"}]
        rows = [
            (measure, question, f"{value:.4f}")
            for question, values in found.items()
            for measure, value in values.items()
            if measure in names
        ]
        for measure in names:
            whole = pytrec_eval.compute_aggregated_measure(measure, [values[measure] for values in found.values()])
            rows.append((measure, "all", f"{whole:.4f}"))
        rows += [("relstring", question, show_grades(run[question], qrels[question], length)) for question in run]
        rows += [("num_q", "all", "4"), ("runid", "all", "OWN")]
        text = "".join(f"{','.join(row)}\n" for row in [("measure", "query", "value"), *rows])
        (folder / expected).write_text(text, encoding="utf-8")


def rank(found: Mapping[str, float]) -> list[str]:
    """Return documents in trec_eval's order: the best score first, ties in falling order of id."""
    return sorted(sorted(found, reverse=True), key=lambda one: -found[one])


def interpolate(found: Mapping[str, float], grades: Mapping[str, int], level: int) -> dict[str, float]:
    """Return precision at shares of recall as trec_eval 10 rounds them, half up; pytrec_eval holds version 9."""
    hits = [grades.get(one, 0) >= level for one in rank(found)]
    points = [(sum(hits[:n]), sum(hits[:n]) / n) for n in range(1, len(hits) + 1) if hits[n - 1]]
    due = sum(grade >= level for grade in grades.values())
    at = {
        f"iprec_at_recall_{tenth / 10:.2f}": max(
            (precision for count, precision in points if 10 * count > tenth * due - 5), default=0.0
        )
        for tenth in range(11)
    }
    return {**at, "11pt_avg": sum(at.values()) / 11}


def show_grades(found: Mapping[str, float], grades: Mapping[str, int], length: int) -> str:
    """Return the grades of a ranking as trec_eval prints them: `.` is below 0, `-` not judged."""
    order = rank(found)[:length]
    signs = ("-" if one not in grades else "." if grades[one] < 0 else str(grades[one]) for one in order)
    return f"'{''.join(signs)}'"


WRITERS: Mapping[str, Callable[[Path], None]] = {
    "graphragbench_novels_3": write_novels,
    "lightrag_novel_kv": write_lightrag,
    "mcnemar_reference": write_mcnemar,
    "msgraphrag_output": write_graphrag,
    "multihop_2wiki_51_systems": write_systems,
    "multihop_hotpotqa_100": write_hops,
    "nq301_answer_judgments": write_judgments,
    "ragchecker_meta_eval_70": write_pairs,
    "trec_eval_golden": write_trec,
}
"""By the name of the published data set whose form is taken."""
