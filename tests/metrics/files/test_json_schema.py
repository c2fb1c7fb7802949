"""The schema of metric files accepts what greval reads, and rejects what editors can see is wrong."""

from __future__ import annotations

import json

import jsonschema
import pytest
from metric_file_texts import EXAMPLE, FILES, GOOD, accepts, as_editors_see, faults_of

from greval.metrics.files import build_file_schema, parse_metric
from greval.metrics.library import find_predefined_folder
from greval.records.formula_metric import FORMULA_FIELDS
from greval.records.metric import JudgedMetric

FORMULA = """\
name: both
description: Both.
formula: a + b
metrics: {a: correctness}
scale: {low: 0, high: 2}
"""


class TestSchema:
    def test_is_the_stored_one(self):
        """The schema beside the predefined metrics is the one that the models give."""
        stored = json.loads((find_predefined_folder() / "metric.schema.json").read_text("utf-8"))
        assert stored == build_file_schema()
        jsonschema.Draft7Validator.check_schema(stored)

    @pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
    def test_predefined(self, file):
        """Every predefined file fits the schema, and names it for editors in its first line."""
        text = file.read_text("utf-8")
        jsonschema.Draft7Validator(build_file_schema()).validate(as_editors_see(text))
        assert text.startswith("# yaml-language-server: $schema=metric.schema.json\n")

    def test_described(self):
        """Every field has a description for the editor."""
        fields = build_file_schema()["properties"]
        judged = {field.alias or name for name, field in JudgedMetric.model_fields.items()}
        assert {*fields} == judged | {*FORMULA_FIELDS}
        assert all(content["description"] for content in fields.values())

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("name: tone", "name: 3"),
            ("name: tone", "nam: tone"),
            ("needs: [answer]", "needs: [answr]"),
            ("needs: [answer]", "needs: answer"),
            ("score: 1", "score: one"),
            ("Rude:", "Rude: 3"),
            ("Rude:", "Rude: [a]"),
            ("    Rude:\n", ""),
            ("Rude:", "Rude: {name: Rude}"),
            ("  advice: what to say instead", "  advice:"),
            ("  advice: what to say instead", "  reason: x"),
            ("steps: [Read the answer.]", "steps: []"),
            ("steps:", "over: chunk\nsteps:"),
            ("steps:", "range: [1, 2]\nsteps:"),
        ],
    )
    def test_refuses_what_reading_refuses(self, old, new):
        """The form that a file may not have is a fault in the editor and in reading alike."""
        assert accepts(GOOD)
        assert not accepts(GOOD.replace(old, new, 1))
        assert faults_of(GOOD.replace(old, new, 1))

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("needs: [answer]", "needs: [answer, tags.year]"),
            ("score: 1", "score: null"),
            ("steps:", "over:\nsteps:"),
            ("    Rude:\n", "    Rude: bad\n  ordered: false\n"),
            ("  advice: what to say instead", "  a: {means: m, each: {b: text, c: [x, 'y']}}"),
            (
                "  advice: what to say instead",
                "  a: {means: m, each: {c: [x, z]}}\n  s: {share: a, where: {c: x}, among: {c: [x, z]}}",
            ),
            ("steps:", EXAMPLE.format("chunks: [t]")),
            ("steps:", EXAMPLE.format("triples: [[s, p, o]]")),
        ],
    )
    def test_accepts_what_reading_accepts(self, old, new):
        """Each short form that is read is good in the editor too."""
        text = GOOD.replace(old, new, 1)
        assert parse_metric(text)
        assert accepts(text)

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("formula: a + b", "formula: 3"),
            ("formula: a + b", "formula:"),
            ("metrics: {a: correctness}", "metrics: [a]"),
            ("scale: {low: 0, high: 2}", "scale: {range: [0, 2], levels: {0: x, 2: y}}"),
            ("scale: {low: 0, high: 2}", "scale: {low: zero}"),
            ("scale: {low: 0, high: 2}", "steps: [Read.]"),
            ("scale: {low: 0, high: 2}", "needs: [answer]"),
            ("formula: a + b", "steps: [Read.]"),
        ],
    )
    def test_a_formula_has_fields_of_its_own(self, old, new):
        """A file with a formula is good without what a judge needs, and faulty with it, in the editor as in reading."""
        assert accepts(FORMULA)
        assert parse_metric(FORMULA)
        assert not accepts(FORMULA.replace(old, new))
        assert faults_of(FORMULA.replace(old, new))
