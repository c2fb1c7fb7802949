"""Metric files are read as their text says, and written so that they read back equal."""

from __future__ import annotations

import pytest
from hypothesis import given
from metric_file_texts import FILES, GOOD, accepts
from strategies import metrics

from greval.metrics.files import parse_metric, read_metric, write_metric
from greval.records.metric import CategoricalMetric, ManyValueMetric


class TestRead:
    def test_short_forms(self):
        """A category may be a text, a mapping or nothing, and a note may be a text."""
        metric = parse_metric(GOOD)
        assert isinstance(metric, CategoricalMetric)
        assert [category.means for category in metric.scale.categories] == ["Courteous.", ""]
        assert metric.notes["advice"].means == "what to say instead"

    def test_yaml_12(self):
        """The words yes, no, on and off and dates stay text, as values and as names."""
        metric = parse_metric(GOOD.replace("Rude:", "no: yes\n    off: 2024-01-01\n    1.0: x\n    true: x"))
        assert metric.scale.names == ("Polite", "no", "off", "1.0", "true")
        assert metric.scale.categories[2].means == "2024-01-01"

    def test_over_a_range(self):
        """A file with a range and items gives the class for many values."""
        text = (
            "name: n\ndescription: d\nover: triples\nneeds: [triples]\nscale: {range: [0, 2], levels: {0: a, 2: b}}\n"
        )
        assert isinstance(parse_metric(text + "steps: [s]\n"), ManyValueMetric)

    def test_byte_order_mark(self, tmp_path):
        """A file that begins with a byte order mark is read."""
        file = tmp_path / "tone.yaml"
        file.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
        assert read_metric(file) == parse_metric(GOOD)


class TestWrite:
    @given(metric=metrics())
    def test_round_trip(self, metric):
        """What is written reads as the same metric, whatever its script and characters, and fits the schema."""
        text = write_metric(metric)
        assert parse_metric(text) == metric
        assert text.startswith("# yaml-language-server: $schema=metric.schema.json\nname:")
        assert accepts(text)

    def test_many_categories(self):
        """A metric of 500 categories is written and read again."""
        names = {f"分類 {n}: №{n}": {"means": f"Means {n}. " * 12, "score": 500 - n} for n in range(500)}
        metric = CategoricalMetric(name="μέτρο", description="d", needs=["answer"], steps=["s"], categories=names)
        assert parse_metric(write_metric(metric)) == metric

    @pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
    def test_predefined(self, file):
        """Every predefined metric is written and read again, with a direction only where it was stated."""
        metric = read_metric(file)
        reread = parse_metric(write_metric(metric))
        assert reread == metric
        assert reread.scale.model_fields_set == metric.scale.model_fields_set

    def test_readable(self):
        """Long text is folded, lines are kept, and what is understood is left out."""
        metric = CategoricalMetric(
            name="tone",
            description="word " * 40,
            needs=["answer"],
            steps=["One.\nTwo."],
            categories={"Polite": "Courteous.", "Rude": {"score": 0.5}},
            notes={"late": "a text", "early": {"means": "b", "when": "before"}, "sure": "yes"},
        )
        lines = write_metric(metric).splitlines()
        assert "description: >-" in lines
        assert max(map(len, lines)) < 120
        assert lines[-15:] == [
            "scale:",
            "  categories:",
            "    Polite: Courteous.",
            "    Rude:",
            "      score: 0.5",
            "steps:",
            "  - |-",
            "    One.",
            "    Two.",
            "notes:",
            "  late: a text",
            "  early:",
            "    when: before",
            "    means: b",
            '  sure: "yes"',
        ]
