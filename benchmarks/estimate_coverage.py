"""How honest estimates are: draw labels again and again, and count how often the interval holds the truth.

    python benchmarks/estimate_coverage.py --repeats 2000
    python benchmarks/estimate_coverage.py --part questions

Two parts. In `things` 100 answers are labelled, drawn one by one or with two systems' answers together. The data are
1,490 answers that people and three recorded judges called correct or not, from
`../shared/data/nq301_answer_judgments`: the truth is the people's share of all of them, the labels are theirs on the
drawn ones, the rest is known by the judge only.

In `questions` 5 to 40 whole questions are labelled (up to 100 for differences), drawn without replacement, with all
that was judged of them: in made runs of 25 to 300 questions, a new run each time, with judges from perfect to poor, and
in the same recorded data. Made runs need no data beside the repository; recorded data that are not there are left out,
and this is told.

Everything goes through the functions that `greval estimate` uses; the draws are seeded, so that the figures repeat.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import greval
from greval.stats.prediction_powered import EstimateTerm
from greval.stats.sampling import build_weighted_sample
from greval.trust.estimates.figures import (
    MIN_QUESTIONS,
    CellFigures,
    LabelledSample,
    ValueRange,
    compute_figures,
    compute_judge_figure,
)
from greval.trust.estimates.records import EstimateFigure

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

DATA = Path(greval.__file__).parents[2] / "shared" / "data" / "nq301_answer_judgments"
SEED = 11
LABELS = 100
PAIRED = 60
"""How many questions are labelled with the answers of two systems."""
HALVES = (LABELS // 2, LABELS // 2)
LEVEL = 0.95
RATES = ValueRange((0.0, 1.0), 1.0, binary=True)
JUDGES = ("judge_gpt4", "judge_davinci003", "judge_bem")
PAIRS = (
    ("text-davinci-003_zeroshot", "DPR"),
    ("EMDR2", "FiD"),
    ("R2D2", "EviGen"),
)
COLUMNS = ("judge alone", "plain labels", "plain PPI++", "labels", "PPI++", "Rogan-Gladen")


class Draw(NamedTuple):
    """What was drawn: the places, the weights, the strata, and the questions where these were drawn whole."""

    places: Integers
    weights: Floats
    strata: Integers
    units: Integers | None = None


class Answers(NamedTuple):
    """What people and judges said of each answer; `unsure` is how near the third judge is to a coin."""

    people: Floats
    judges: Mapping[str, Floats]
    unsure: Floats


Design = Callable[[np.random.Generator, Answers, Floats], Draw]


def answers() -> Answers:
    """Read the answers."""
    rows = [json.loads(line) for line in (DATA / "judgments.jsonl").read_text(encoding="utf-8").splitlines()]
    said = {name: np.array([float(row[name] == "correct") for row in rows]) for name in ("human", *JUDGES)}
    probability = np.array([row["judge_bem_max_prob"] for row in rows])
    return Answers(said.pop("human"), said | {"bem probability": probability}, 1 - 2 * abs(probability - 0.5))


def at_random(rng: np.random.Generator, data: Answers, _verdicts: Floats) -> Draw:
    """Draw at random."""
    places = rng.choice(len(data.people), LABELS, replace=False)
    return Draw(places, np.ones(LABELS), np.zeros(LABELS, dtype=np.int64))


def from_two(rng: np.random.Generator, first: NDArray[np.bool_], counts: tuple[int, int] = HALVES) -> Draw:
    """Draw so many labels from one part, so many from the other."""
    parts = np.flatnonzero(first), np.flatnonzero(~first)
    each = [
        (rng.choice(part, count, replace=False), len(part) / count) for part, count in zip(parts, counts, strict=True)
    ]
    return Draw(
        np.concatenate([places for places, _ in each]),
        np.repeat([weight for _, weight in each], counts),
        np.repeat([0, 1], counts),
    )


def each_by_itself(rng: np.random.Generator, sizes: Floats) -> Draw:
    """Draw each answer with a probability in proportion to its size: about 100 are drawn."""
    chances = np.minimum(1.0, LABELS * sizes / sizes.sum())
    places = np.flatnonzero(rng.random(len(sizes)) < chances)
    return Draw(places, 1 / chances[places], np.zeros(len(places), dtype=np.int64))


def apart(data: Answers) -> NDArray[np.bool_]:
    """Say on which answers two of the judges disagree."""
    return data.judges["judge_gpt4"] != data.judges["judge_davinci003"]


DESIGNS: dict[str, Design] = {
    "random": at_random,
    "enriched: half judged correct, half not": lambda rng, _, verdicts: from_two(rng, verdicts > 0.5),
    "enriched: 70 judged correct, 30 not": lambda rng, _, verdicts: from_two(rng, verdicts > 0.5, (70, 30)),
    "enriched: by uncertainty, chances 1 to 6": lambda rng, data, _: each_by_itself(rng, 0.2 + data.unsure),
    "queue: half where two judges disagree": lambda rng, data, _: from_two(rng, apart(data)),
    "queue: chances 1 to 5 where they disagree": lambda rng, data, _: each_by_itself(rng, 1 + 4.0 * apart(data)),
}


class Held(NamedTuple):
    """How often the intervals of one kind hold the truth, how long they are, and how many there were."""

    share: float
    width: float
    count: int


def coverage(data: Answers, judge: str, design: Design, repeats: int) -> dict[str, Held]:
    """Draw labels again and again; give what each kind of figure held."""
    rng = np.random.default_rng(SEED)
    verdicts = data.judges[judge]
    binary = bool(np.isin(verdicts, (0.0, 1.0)).all())
    reach = ValueRange((0.0, 1.0), 1.0, binary=binary)
    one = compute_judge_figure(verdicts, np.ones(len(verdicts), dtype=np.int64), reach, level=LEVEL, mean=True)
    found: dict[str, list[EstimateFigure]] = {"judge alone": [one] * repeats}
    for _ in range(repeats):
        drawing = design(rng, data, verdicts)
        for name, figure in _figures(drawing, data.people, verdicts, reach):
            found.setdefault(name, []).append(figure)
    truth = float(data.people.mean())
    return {name: held(figures_of, truth) for name, figures_of in found.items()}


def _figures(
    drawing: Draw, people: Floats, verdicts: Floats, reach: ValueRange
) -> Iterator[tuple[str, EstimateFigure]]:
    """Give the figures of one draw: those that know how it was drawn, and those that do not."""
    places = drawing.places
    ones = np.ones(len(places))
    side = [EstimateTerm(ones, float(verdicts.mean()))]
    for plain in (True, False):
        how = (
            build_weighted_sample(ones, population=len(people))
            if plain
            else build_weighted_sample(drawing.weights, drawing.strata, population=len(people))
        )
        found = compute_figures(
            LabelledSample(how, people[places], verdicts[places]), side, reach, judged=len(people), level=LEVEL
        )
        yield "plain labels" if plain else "labels", found.labels_only
        yield "plain PPI++" if plain else "PPI++", found.prediction_powered
        if not plain:
            yield "Rogan-Gladen", found.rogan_gladen


def held(found: list[EstimateFigure], truth: float) -> Held:
    """Count the intervals that hold the truth, of those that are given."""
    given = [figure.interval for figure in found if figure.interval]
    if not given:
        return Held(float("nan"), float("nan"), 0)
    share = np.mean([one.low <= truth <= one.high for one in given])
    return Held(float(share), float(np.mean([one.high - one.low for one in given])), len(given))


class Pair(NamedTuple):
    """Two systems on the questions that both answered: what people and a judge said of each."""

    people: Floats
    verdicts: Floats


def pair(judge: str, method: str, baseline: str) -> Pair:
    """Read the answers of two systems; in each array one column a system."""
    rows = [json.loads(line) for line in (DATA / "systems.jsonl").read_text(encoding="utf-8").splitlines()]
    of = {(row["system"], row["question_id"]): row for row in rows if row["judgment_id"]}
    questions = [question for system, question in of if system == method and (baseline, question) in of]

    def said(name: str) -> Floats:
        answers_of = [
            [float(of[system, question][name] == "correct") for system in (method, baseline)] for question in questions
        ]
        return np.array(answers_of)

    return Pair(said("human"), said(judge))


def differences(data: Pair, how: str, repeats: int) -> dict[str, Held]:
    """Draw labels of two systems again and again: answers, questions, or questions by whether the verdicts differ."""
    rng = np.random.default_rng(SEED)
    count = len(data.people)
    people, verdicts = data.people.T.ravel(), data.verdicts.T.ravel()
    judged = data.verdicts.mean(axis=0)
    found: dict[str, list[EstimateFigure]] = {}
    for _ in range(repeats):
        drawing = _of_two(rng, data, how)
        places = drawing.places
        sample = build_weighted_sample(drawing.weights, drawing.strata, drawing.units, population=2 * count)
        sides = [EstimateTerm((places // count == n).astype(float), float(judged[n]), 1.0 - 2 * n) for n in (0, 1)]
        one = compute_figures(
            LabelledSample(sample, people[places], verdicts[places]), sides, RATES, judged=2 * count, level=LEVEL
        )
        for name, figure in (
            ("labels", one.labels_only),
            ("PPI++", one.prediction_powered),
            ("Rogan-Gladen", one.rogan_gladen),
        ):
            found.setdefault(name, []).append(figure)
    of_judge = compute_judge_figure(
        data.verdicts @ [1.0, -1.0], np.ones(count, dtype=np.int64), RATES, level=LEVEL, mean=False
    )
    truth = float(data.people.mean(axis=0) @ [1.0, -1.0])
    return {name: held(figures_of, truth) for name, figures_of in ({"judge alone": [of_judge]} | found).items()}


def _of_two(rng: np.random.Generator, data: Pair, how: str) -> Draw:
    """Draw answers of two systems."""
    count = len(data.people)
    if how == "answers":
        return Draw(rng.choice(2 * count, LABELS, replace=False), np.ones(LABELS), np.zeros(LABELS, dtype=np.int64))
    if how == "questions":
        questions = rng.choice(count, PAIRED, replace=False)
        part = Draw(questions, np.ones(PAIRED), np.zeros(PAIRED, dtype=np.int64))
    else:
        part = from_two(rng, data.verdicts[:, 0] != data.verdicts[:, 1], (PAIRED // 2, PAIRED // 2))
    both = np.tile(part.places, 2)
    places = both + np.repeat([0, count], len(part.places))
    return Draw(places, np.tile(part.weights, 2), np.tile(part.strata, 2), both)


def _line(told: str, found: Mapping[str, Held]) -> str:
    """Give a line of the table: the share held, and the mean length."""
    cells = [f"{found[name].share:.3f} ({found[name].width:.3f})" if name in found else "" for name in COLUMNS]
    return f"{told:46}" + "".join(f"{'-' if cell.startswith('nan') else cell:>16}" for cell in cells)


DRAWN = (5, 8, 12, 20, 30, 40)
MORE_DRAWN = (60, 100)
"""How many whole questions are labelled; more for differences, which need more."""
BAND = (0.93, 0.97)
KINDS = ("labels", "PPI++", "Rogan-Gladen")


class Run(NamedTuple):
    """One run: the question of each judged thing, whether it counts for the baseline, and what was said of it."""

    question: Integers
    baseline: NDArray[np.bool_]
    people: Floats
    verdicts: Floats


class Made(NamedTuple):
    """What made runs are like.

    `things` are the fewest and most things of a question, `rate` is how often people say yes, `alike` how much the
    things of a question have in common. `levels` are values from 1 to 5; in a `paired` run there are two methods with
    one answer each, whose rates are `rate` and 0.2 less.
    """

    told: str
    questions: int
    things: tuple[int, int]
    rate: float
    alike: float
    levels: bool = False
    paired: bool = False

    @property
    def each_judge_at(self) -> int:
        """How many questions are labelled where each judge is looked at by itself: the fewest that tell of judges."""
        return MIN_QUESTIONS["prediction_powered"][1 if self.paired else 0]


MADE = (
    Made("25 questions of 5 things, half right", 25, (5, 5), 0.5, 1.0),
    Made("60 questions of 1 to 9 things, 80 % right", 60, (1, 9), 0.8, 1.0),
    Made("300 questions of 1 to 9 things, 25 % right", 300, (1, 9), 0.25, 1.5),
    Made("100 questions of 5 things, values 1 to 5", 100, (5, 5), 0.5, 1.0, levels=True),
    Made("150 questions, difference of two methods", 150, (1, 1), 0.7, 1.5, paired=True),
)


def people_of(rng: np.random.Generator, made: Made, question: Integers, baseline: NDArray[np.bool_]) -> Floats:
    """Draw what people say of each thing."""
    own = made.alike * rng.normal(size=made.questions)[question]
    if made.levels:
        return np.clip(np.round(3 + 0.8 * own + rng.normal(size=len(question))), 1, 5)
    rate = made.rate - 0.2 * baseline
    middle = np.log(rate / (1 - rate)) * np.sqrt(1 + 0.35 * made.alike**2)
    return (rng.random(len(question)) < 1 / (1 + np.exp(-middle - own))).astype(float)


def wrong_on(share: float) -> Callable[[np.random.Generator, Floats, Integers], NDArray[np.bool_]]:
    """Return a judge that is wrong on a share of things, whichever."""
    return lambda rng, people, _: rng.random(len(people)) < share


def wrong_on_questions(rng: np.random.Generator, people: Floats, question: Integers) -> NDArray[np.bool_]:
    """Be wrong on most things of a fifth of the questions, and on few of the others."""
    failed = rng.random(question.max() + 1)[question] < 0.2
    return rng.random(len(people)) < np.where(failed, 0.7, 0.05)


def lenient(rng: np.random.Generator, people: Floats, _: Integers) -> NDArray[np.bool_]:
    """Be wrong mostly on what people value less than the mean."""
    return rng.random(len(people)) < np.where(people < people.mean(), 0.4, 0.03)


MADE_JUDGES: dict[str, Callable[[np.random.Generator, Floats, Integers], NDArray[np.bool_]]] = {
    "wrong on 8 %": wrong_on(0.08),
    "wrong on 20 %": wrong_on(0.2),
    "wrong on 38 %": wrong_on(0.38),
    "wrong on most of a fifth of the questions": wrong_on_questions,
    "lenient: wrong on 40 % of the worse": lenient,
}
NEARLY_PERFECT = {"wrong on 2 %": wrong_on(0.02), "never wrong": wrong_on(0.0)}


def make_run(rng: np.random.Generator, made: Made, judge: str) -> Run:
    """Make a run with what people and a judge say of all its things."""
    counts = rng.integers(made.things[0], made.things[1] + 1, made.questions)
    question = np.repeat(np.arange(made.questions), counts)
    baseline = np.zeros(len(question), dtype=bool)
    if made.paired:
        question, baseline = np.tile(question, 2), np.repeat([False, True], len(question))
    people = people_of(rng, made, question, baseline)
    wrong = (MADE_JUDGES | NEARLY_PERFECT)[judge](rng, people, question)
    other = np.clip(people + rng.integers(-2, 3, len(people)), 1, 5) if made.levels else 1 - people
    return Run(question, baseline, people, np.where(wrong, other, people))


def label_questions(rng: np.random.Generator, run: Run, count: int, reach: ValueRange) -> tuple[CellFigures, float]:
    """Draw whole questions and label all their things; give the figures and the truth."""
    chosen = np.zeros(int(run.question.max()) + 1, dtype=bool)
    chosen[rng.choice(len(chosen), count, replace=False)] = True
    places = np.flatnonzero(chosen[run.question])
    sample = build_weighted_sample(np.ones(len(places)), units=run.question[places], population=len(run.people))
    methods = [~run.baseline, run.baseline] if run.baseline.any() else [~run.baseline]
    sides = [
        EstimateTerm(of[places].astype(float), float(run.verdicts[of].mean()), sign)
        for of, sign in zip(methods, (1.0, -1.0), strict=False)
    ]
    truth = sum(side.sign * float(run.people[of].mean()) for side, of in zip(sides, methods, strict=True))
    labelled = LabelledSample(sample, run.people[places], run.verdicts[places])
    return compute_figures(labelled, sides, reach, judged=len(run.people), level=LEVEL), truth


class Tally:
    """How often intervals of each kind were given, were bounds, and held the truth, and how long they were."""

    def __init__(self) -> None:
        self.repeats = 0
        self.seen: dict[str, list[tuple[bool, float, bool]]] = {kind: [] for kind in KINDS}

    def add(self, found: CellFigures, truth: float) -> None:
        """Count the figures of one draw."""
        self.repeats += 1
        kinds = (found.labels_only, found.prediction_powered, found.rogan_gladen)
        for kind, figure in zip(KINDS, kinds, strict=True):
            if one := figure.interval:
                near = 1e-9  # a difference of two rounded means
                held_it = one.low - near <= truth <= one.high + near
                self.seen[kind].append((held_it, one.high - one.low, one.method == "bounded"))

    def share(self, kind: str) -> float | None:
        """Return the share of the given intervals that hold the truth, None if hardly any was given."""
        seen = self.seen[kind]
        return float(np.mean([one[0] for one in seen])) if len(seen) > FEWEST * self.repeats else None

    def cell(self, kind: str) -> str:
        """Return the share, the mean length, and how many were given or were bounds, if not all or none."""
        seen = self.seen[kind]
        if not seen:
            return "not given"
        length, bounds = (float(np.mean([one[n] for one in seen])) for n in (1, 2))
        given = len(seen) / self.repeats
        more = [f"given {given:.0%}"] if given < 1 else []
        more += [f"bounds {bounds:.0%}"] if bounds >= FEWEST else []
        return f"{np.mean([one[0] for one in seen]):.3f} ({length:.3f})" + "".join(f" {one}" for one in more)


FEWEST = 0.005
"""Shares of less than this are not worth telling."""


def whole_questions(
    runs: Callable[[np.random.Generator, int], Run], count: int, repeats: int, reach: ValueRange
) -> Tally:
    """Label so many whole questions of a run, again and again."""
    rng = np.random.default_rng(SEED)
    found = Tally()
    for number in range(repeats):
        found.add(*label_questions(rng, runs(rng, number), count, reach))
    return found


def recorded(judge: str) -> Run:
    """Return the recorded answers as a run: each question with all answers that were judged."""
    rows = [json.loads(line) for line in (DATA / "judgments.jsonl").read_text(encoding="utf-8").splitlines()]
    _, question = np.unique([row["question_id"] for row in rows], return_inverse=True)
    people, verdicts = (np.array([float(row[name] == "correct") for row in rows]) for name in ("human", judge))
    return Run(question, np.zeros(len(rows), dtype=bool), people, verdicts)


def recorded_pair(judge: str, method: str, baseline: str) -> Run:
    """Return the answers of two systems to the same questions as a run."""
    two = pair(judge, method, baseline)
    count = len(two.people)
    return Run(
        np.tile(np.arange(count), 2),
        np.repeat([False, True], count),
        two.people.T.ravel(),
        two.verdicts.T.ravel(),
    )


def print_questions(repeats: int) -> None:
    """Print how often intervals hold the truth where whole questions are labelled."""
    print(f"\nwhole questions labelled: share of {repeats} intervals of 95 % that hold the truth (mean length)")
    for kind, (mean, difference) in zip(KINDS, MIN_QUESTIONS.values(), strict=True):
        print(f"{kind}: given from {mean} questions on, a difference from {difference}")
    print("where no judge is named the judges take turns")
    outside = [line for made in MADE for line in _print_made(made, repeats)]
    if (DATA / "judgments.jsonl").is_file():
        outside += _print_recorded(repeats)
    else:
        print(f"\nrecorded answers: {DATA} is not there")
    print(f"\nshares outside {BAND[0]} to {BAND[1]}:", *(outside or ["none"]), sep="\n  ")
    print("\njudges nearly without a fault: faults that were not seen are allowed for, so that more is held")
    for made in MADE:
        if made.questions > (count := made.each_judge_at):
            _head(made.told)
            for judge in set_of(made)[1]:
                _row(made.told, f"{count:3}  {judge}", _label_made(made, (judge,), count, repeats))


def set_of(made: Made) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the judges of made runs, and of those that are nearly without a fault there.

    One that is wrong on 8 % of values from 1 to 5, mostly by one, is among the latter.
    """
    near = tuple(NEARLY_PERFECT) if not made.levels else (next(iter(MADE_JUDGES)), *NEARLY_PERFECT)
    return tuple(name for name in MADE_JUDGES if name not in near), near


def _label_made(made: Made, judges: tuple[str, ...], count: int, repeats: int) -> Tally:
    """Label so many questions of made runs, whose judges take turns."""
    reach = ValueRange((1.0, 5.0), 4.0, binary=False) if made.levels else RATES
    return whole_questions(lambda rng, n: make_run(rng, made, judges[n % len(judges)]), count, repeats, reach)


def _print_made(made: Made, repeats: int) -> Iterator[str]:
    """Print the shares of made runs; give those that are not as they should be."""
    _head(made.told)
    judges, _ = set_of(made)
    for count in (*DRAWN, *(MORE_DRAWN if made.paired else ())):
        if count < made.questions:
            for turn in [(judge,) for judge in judges] if count == made.each_judge_at else [judges]:
                name = f"{count:3}  {turn[0] if len(turn) == 1 else ''}"
                yield from _row(made.told, name, _label_made(made, turn, count, repeats))


def _print_recorded(repeats: int) -> Iterator[str]:
    """Print the same of recorded data; give the shares that are not as they should be."""
    for judge in JUDGES:
        run = recorded(judge)
        told = f"recorded: {judge}, {int(run.question.max()) + 1} questions of 1 to {np.bincount(run.question).max()}"
        _head(told)
        for count in DRAWN:
            yield from _row(told, f"{count:3}", whole_questions(lambda *_, run=run: run, count, repeats, RATES))
    for method, baseline in PAIRS:
        run = recorded_pair(JUDGES[0], method, baseline)
        told = f"recorded: {method} less {baseline}"
        _head(told)
        for count in (*DRAWN, *MORE_DRAWN):
            yield from _row(told, f"{count:3}", whole_questions(lambda *_, run=run: run, count, repeats, RATES))


def _head(told: str) -> None:
    print(f"{told:50}" + "".join(f"{kind:>30}" for kind in KINDS))


def _row(told: str, name: str, found: Tally) -> list[str]:
    """Print a line; give the shares that are not as they should be."""
    print(f"  {name:48}" + "".join(f"{found.cell(kind):>30}" for kind in KINDS), flush=True)
    shares = {kind: found.share(kind) for kind in KINDS}
    return [
        f"{told}, {name.strip()}, {kind}: {share:.3f}"
        for kind, share in shares.items()
        if share is not None and not BAND[0] <= round(share, 3) <= BAND[1]
    ]


def print_things(repeats: int) -> None:
    """Print how often intervals hold the truth where 100 answers are labelled."""
    data = answers()
    truth = data.people.mean()
    print(f"share of {repeats} intervals of 95 % that hold the truth, {truth:.3f} (mean length); {LABELS} labels")
    print(f"{'':46}" + "".join(f"{name:>16}" for name in COLUMNS))
    for judge in data.judges:
        print(f"{judge}, mean {data.judges[judge].mean():.3f}")
        for name, design in DESIGNS.items():
            print(_line(f"  {name}", coverage(data, judge, design, repeats)), flush=True)
    print(f"\ndifferences of two systems, {LABELS} answers or {PAIRED} questions labelled, judge {JUDGES[0]}")
    for method, baseline in PAIRS:
        two = pair(JUDGES[0], method, baseline)
        difference = two.people.mean(axis=0) @ [1.0, -1.0]
        print(f"{method} less {baseline}: {difference:+.3f} on {len(two.people)} questions")
        for how in ("answers", "questions", "questions, half where verdicts differ"):
            print(_line(f"  {how}", differences(two, how, repeats)), flush=True)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2000, help="how many draws each figure is of")
    parser.add_argument("--part", choices=("things", "questions", "both"), default="both", help="what is drawn")
    options = parser.parse_args()
    begun = time.process_time()
    if options.part != "questions":
        print_things(options.repeats)
    if options.part != "things":
        print_questions(options.repeats)
    print(f"\n{time.process_time() - begun:.0f} s of CPU")


if __name__ == "__main__":
    main()
