"""A run of two methods whose true values are known, and labels of its answers."""

from __future__ import annotations

import numpy as np
from compared_runs import defined, write

from greval.records.annotation import Annotation
from greval.records.result import Judgement, Result, Scored
from greval.records.scale import CategoricalScale
from greval.runs.store.writer import StoreWriter


def said(sample, value, *, method="walk", metric="right", annotator="ana", **more):
    return Annotation(sample_id=sample, method=method, metric=metric, annotator=annotator, value=value, **more)


class World:
    """Two methods on 400 questions: what people would say, and a judge that is wrong on every seventh answer."""

    def __init__(self, folder, count=400):
        rng = np.random.default_rng(7)
        self.truth = {name: (rng.random(count) < share).astype(int) for name, share in (("walk", 0.8), ("local", 0.6))}
        self.judged = {name: np.where(rng.random(count) < 1 / 7, 1 - one, one) for name, one in self.truth.items()}
        figures = {(name, "right"): one.tolist() for name, one in self.judged.items()}
        self.run = write(folder / "run", figures, tags=[{"area": "ab"[n % 2]} for n in range(count)])
        self.count = count

    @property
    def rng(self):
        """A generator that draws the same in each test, whichever tests ran before."""
        return np.random.default_rng(8)

    def label(self, method, question, **more):
        return said(f"q{question}", int(self.truth[method][question]), method=method, **more)

    def at_random(self, count=60):
        """Give labels of both methods on questions drawn at random."""
        return [self.label(name, n) for n in self.rng.choice(self.count, count, replace=False) for name in self.truth]

    def enriched(self, count=30):
        """Give labels of which half are of answers judged right, for each method."""
        found, rng = [], self.rng
        for name, verdicts in self.judged.items():
            for value in (0, 1):
                pool = np.flatnonzero(verdicts == value)
                more = {"weight": len(pool) / count, "stratum": f"{name} {value}"}
                found += [self.label(name, n, **more) for n in rng.choice(pool, count, replace=False)]
        return found


KIND = defined(
    "kind", CategoricalScale.model_validate({"categories": {"Fact": "", "Opinion": "", "Joke": ""}, "ordered": False})
)


def holds(figure, truth):
    return figure.interval.low <= truth <= figure.interval.high


def shares(folder, values):
    """Write a run of categories without scores."""
    with StoreWriter.create(folder) as writer:
        writer.put_fact("metrics", [KIND.model_dump(mode="json")])
        for n, value in enumerate(values):
            outcome = Scored(judgements=(Judgement(value=value, reason="r"),))
            row = Result(
                sample_id=f"q{n}",
                method="walk",
                metric="kind",
                fingerprint="f",
                judge="j",
                tier="text",
                outcome=outcome,
            )
            writer.append(f"{n}", row)
    return folder
