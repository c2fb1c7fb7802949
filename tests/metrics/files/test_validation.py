"""Faults of metric files are reported all at once, each with its line and what to do."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from metric_file_texts import GOOD, faults_of, faults_or_none
from strategies import AWKWARD, SCRIPTS

from greval.errors import DefinitionError
from greval.metrics.files import MAX_BYTES, MAX_VALUES, parse_metric, read_metric

ADVICE = "  advice: what to say instead"


class TestFaults:
    def test_all_at_once_in_order(self):
        """All faults of a file come together, each with the line of its key, in the order of the lines."""
        text = (
            "name: my tone\n"
            "description: 3\n"
            "over: chunk\n"
            "needs: [answr, question]\n"
            "scale: {range: [5, 1], levels: {1: a, 5: b}}\n"
            "steps_: [Read.]\n"
            "notes: {reason: x}\n"
        )
        assert faults_of(text) == (
            "tone.yaml:1: name: may hold letters and digits of any script and - . @ _ only, got ' '",
            "tone.yaml:1: steps: is missing; add it",
            "tone.yaml:2: description: must be text, got 3; put it in quotes",
            "tone.yaml:3: over: 'chunk' is not allowed here; did you mean chunks?",
            "tone.yaml:4: needs.1: 'answr' is no field of a case; did you mean answer?",
            "tone.yaml:5: scale.range: must rise, got 5 to 1",
            "tone.yaml:6: steps_: unknown; did you mean steps?",
            "tone.yaml:7: notes.reason: the name is taken; choose another than reason, value, item, judgements",
        )

    @pytest.mark.parametrize(
        ("old", "new", "fault"),
        [
            ("needs: [answer]", "needs: [question]\nover: chunks", "3: needs: add 'chunks', the metric is over them"),
            ("needs: [answer]", "needs: [usage]", "3: needs: 'usage' cannot be shown to a judge"),
            ("needs: [answer]", "needs: [tags.]", "3: needs.1: 'tags.' is no field of a case"),
            ("needs: [answer]", "needs: answer", "3: needs: must be a list, got 'answer'"),
            ("needs: [answer]", "needs: []", "3: needs: holds too little: at least 1, got 0"),
            ("score: 1", "score: '1'", "6: scale.categories.Polite.score: must be a number, got '1'"),
            ("score: 1", "score: true", "6: scale.categories.Polite.score: must be a number, got true"),
            ("score: 1", "scor: 1", "6: scale.categories.Polite.scor: unknown; did you mean score?"),
            ("Rude:", "Rude: 3", "7: scale.categories.Rude: must be text, got 3; put it in quotes"),
            ("Rude:", "polite:", "5: scale.categories: 'Polite' and 'polite' read alike; give each its own name"),
            ("    Rude:\n", "", "5: scale.categories: holds too little: at least 2, got 1"),
            ("    Rude:\n", "    Rude:\n  orderd: true\n", "8: scale.orderd: unknown; did you mean ordered?"),
            ("    Rude:\n", "    Rude:\n  ordered: no\n", "8: scale.ordered: must be true or false, got 'no'"),
            (ADVICE, "  advice:", "10: notes.advice: must be a mapping, got nothing; write"),
            (ADVICE, "  a: {means: m, eech: 1}", "10: notes.a.eech: unknown; did you mean each?"),
            (ADVICE, "  a: {share: b, where: {}}", "10: notes.a: share: 'b' is no list note"),
            (ADVICE, "  'a.b: c': {share: b, where: {}}", "10: notes.a.b: c: share: 'b' is no"),
            (ADVICE, "  a: {means: m, each: {b: [1]}}", "10: notes.a.each.b.1: must be text, got 1"),
            ("steps:", "uses: {chunk: {judged_by: a, as: [b]}}\nsteps:", "8: uses.chunk: 'chunk' is not allowed here"),
            ("steps:", "uses: {chunks: {judged_by: a, as: [b]}}\nsteps:", "8: uses.chunks: the metric does not need"),
            ("steps:", "uses: {chunks: {judged_by: a, as_: [b]}}\nsteps:", "8: uses.chunks.as_: unknown; did you mean"),
            ("steps:", "better: higher\nsteps:", "8: better: belongs under scale; move it there"),
            ("steps:", "name: again\nsteps:", "8: name: given twice; first in line 1"),
            ("name: tone", "name: &a tone", "1: name: &a: anchors are not read; leave it out"),
            ("name: tone", "name: !!str tone", "1: name: the tag"),
            ("steps:", "instructions: *a\nsteps:", "8: *a: aliases are not read; write the content out"),
        ],
    )
    def test_each(self, old, new, fault):
        """A fault names its line, its place, what is wrong and what to do; nothing else is reported with it."""
        told = faults_of(GOOD.replace(old, new, 1))
        assert told[0].startswith(f"tone.yaml:{fault}")
        assert len(told) == 1

    @pytest.mark.parametrize(
        ("text", "fault"),
        [
            ("", "tone.yaml:1: is empty; write name, description, needs, scale and steps"),
            ("# only a remark\n", "tone.yaml:1: is empty; write name, description, needs, scale and steps"),
            ("- a\n", "tone.yaml:1: must be a mapping with name, description, needs, scale and steps, got a list"),
            ("a: [", "tone.yaml:1: is not YAML: while parsing a flow node"),
            ("a: 1\n---\nb: 1\n", "tone.yaml:2: a second document starts; write one metric a file"),
            ("%YAML 1.1\n---\na: 1\n", "tone.yaml:2: leave out the lines that start with %"),
            ("? [a]\n: 1\n", "tone.yaml:1: a key must be text, not a list or a mapping"),
            ("a: b\n\nc: \x00\n", "tone.yaml:3: holds U+0000, which YAML does not allow"),
            ("[" * 100_000, "tone.yaml:1: nested more than 12 deep"),
            ("x" * (MAX_BYTES + 1), "tone.yaml: is larger than 1,000,000 bytes"),
            ("".join(f"k{n}: 1\n" for n in range(MAX_VALUES)), "tone.yaml:2500: has more than 5,000 keys and values"),
        ],
    )
    def test_no_metric_at_all(self, text, fault):
        """A text that holds no mapping is told as such, in one fault."""
        told = faults_of(text)
        assert told[0].startswith(fault)
        assert len(told) == 1

    @pytest.mark.parametrize(
        ("scale", "fault"),
        [
            ("{}", "scale: give categories, or range and levels"),
            ("3", "scale: must be a mapping, got 3"),
            ("{categories: [{name: a}, {name: b}]}", "scale.categories: must be a mapping from each name to what"),
            ("{range: [1, 5], levels: {1: a, 5: b, x: c}}", "scale.levels.x: a level must be a number written in one"),
            ("{range: [1, 5], levels: {1: a, 9: b}}", "scale.levels: describe at least both ends; 5 missing"),
            (
                "{range: [0, 3], step: 0.5, levels: {0: a, 0.50: c, 3: b}}",
                "scale.levels.0.50: a level must be a number",
            ),
            ("{range: [0, 3], step: 0.5, levels: {0: a, 0.3: c, 3: b}}", "scale.levels: 0.3: no multiple of the step"),
            ("{range: [0, 3], levels: {0: a, 0.5: c, 3: b}}", "scale.levels: 0.5: no integer; give the scale a step"),
            ("{range: [0, 3], step: half, levels: {0: a, 3: b}}", "scale.step: must be a number, got 'half'"),
            ("{range: [1.5, 5], levels: {1: a, 5: b}}", "scale.range.1: must be a whole number, got 1.5"),
            ("{range: [1], levels: {1: a}}", "scale.range.2: is missing; add it"),
            ("{range: [1, 5], levels: {1: a, 01: c, 5: b}}", "scale.levels.01: a level must be a number written in"),
        ],
    )
    def test_scales(self, scale, fault):
        """A wrong scale is told in the words of the file, not of the union behind it."""
        told = faults_of(f"name: n\ndescription: d\nneeds: [answer]\nsteps: [s]\nscale: {scale}\n")
        assert told[0].startswith(f"tone.yaml:5: {fault}")

    def test_examples(self):
        """An example that does not fit the metric is told with its number and line."""
        text = GOOD + "examples:\n  - {case: {question: q, answer: a}, reason: r, value: Rood}\n"
        assert faults_of(text)[0].startswith("tone.yaml:12: examples.1: value: 'Rood' is not one of the categories")

    @pytest.mark.parametrize(
        ("content", "fault"),
        [
            (b"name: \xff\n", ":1: is not UTF-8; save it in that encoding"),
            ("name: n\n".encode("utf-16"), ":1: is not UTF-8"),
            (b"#" * (MAX_BYTES + 1), ": is larger than 1,000,000 bytes"),
        ],
    )
    def test_files(self, tmp_path, content, fault):
        """A file that is not UTF-8 or far too large is refused by its path."""
        file = tmp_path / "n.yaml"
        file.write_bytes(content)
        with pytest.raises(DefinitionError) as caught:
            read_metric(file)
        assert str(caught.value).startswith(f"{file}{fault}")

    def test_not_there(self, tmp_path):
        """A path without a file, or to a folder, is told as a fault of the definition."""
        for path in (tmp_path / "none.yaml", tmp_path):
            with pytest.raises(DefinitionError, match="cannot be read"):
                read_metric(path)

    @given(text=st.text(st.characters() | st.sampled_from(SCRIPTS + AWKWARD)))
    @example(text="a: " + "9" * 5000)
    @example(text="!<tag:%F> a")
    @example(text="%TAG ! !\n--- !<")
    @example(text='"\\UFFFFFFFF"')
    @example(text='"\\ud800"')
    def test_any_text(self, text):
        """No text makes reading raise anything but a DefinitionError."""
        with pytest.raises(DefinitionError):
            parse_metric(text)

    @given(data=st.data())
    def test_any_damage(self, data):
        """A good file with any stretch replaced by any text is read or refused with faults of one line each."""
        start = data.draw(st.integers(0, len(GOOD)))
        end = data.draw(st.integers(start, min(len(GOOD), start + 20)))
        damage = data.draw(st.text(st.sampled_from(SCRIPTS + AWKWARD + "\n\n  "), max_size=8))
        told = faults_or_none(GOOD[:start] + damage + GOOD[end:])
        assert all(fault.startswith("metric:") and "\n" not in fault for fault in told)

    @given(content=st.binary(max_size=200))
    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_any_bytes(self, tmp_path, content):
        """No file makes reading raise anything but a DefinitionError."""
        file = tmp_path / "any.yaml"
        file.write_bytes(content)
        with pytest.raises(DefinitionError):
            read_metric(file)
