"""Writing metrics on the page, in a real browser: by form and by text, with check, trial, draft and versions."""

from __future__ import annotations

import httpx
import pytest
from accessibility import find_violations
from visit import Visit
from waiting import SECONDS

from greval.metrics.files import parse_metric

EVIL = "</script><img src=x onerror=window.hit=1>{{7*7}}\u202e: # - \"'"
SELECTED = (
    "(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.activeElement)"
)
TEXT = """\
# ours
name: {name}
description: Whether the answer is polite.
needs: [answer]
scale: {{categories: {{Polite: {{means: Courteous., score: 1}}, Rude: {{means: Insults., score: 0}}}}}}
steps: [Read the answer.]   # one
reason_depth: detailed
"""


class Editor:
    """The editor in a window."""

    def __init__(self, visit):
        """Start at the editor of a new metric."""
        self.visit, self.at = visit, visit.at

    def click(self, role, name):
        """Click something by its role and name."""
        self.at.get_by_role(role, name=name, exact=True).click()

    def fill(self, label, text):
        """Fill a field in; who tabs from field to field clicks nothing."""
        self.at.get_by_label(label, exact=True).fill(text)

    def mode(self, word):
        """Turn to the form or to the text."""
        self.at.get_by_role("group", name="How to write it").get_by_label(word).click()

    def yaml(self):
        """Give the text of the file, as the other mode shows it."""
        self.mode("YAML")
        area = self.at.get_by_label("Metric file (YAML)")
        area.wait_for()
        return area.input_value()


@pytest.fixture
def editor(visit):
    """Give the editor of a new metric."""
    visit.open("metrics/new")
    return Editor(visit)


def fill_in(editor, name):
    """Fill in a whole metric."""
    editor.fill("Name", name)
    editor.fill("What it judges", "Whether the answer is polite.")
    editor.at.get_by_role("checkbox", name="answer", exact=True).check()
    for number, (category, means) in enumerate([("Polite", "Courteous."), ("Rude", "Insults.")], 1):
        editor.fill(f"Category {number}", category)
        editor.fill(f"When category {number} applies", means)
    editor.fill("Step 1", "Read the answer.")


def stored(server, name):
    """Give a metric as the server has it."""
    return httpx.get(f"{server.url}/v1/metrics/{name}", timeout=SECONDS).json()


def create(server, name, text=TEXT):
    """Create a metric without the page."""
    response = httpx.post(
        f"{server.url}/v1/metrics?replace=true", json={"yaml": text.format(name=name)}, timeout=SECONDS
    )
    assert response.status_code == 201, response.text


@pytest.mark.nightly
def test_the_library_leads_to_a_new_metric(chromium, server):
    """The first button of the library opens the editor."""
    with Visit(chromium, server.url) as visit:
        visit.open("library")
        visit.at.get_by_role("link", name="Write a metric").click()
        visit.sees("Say what good means")


@pytest.mark.nightly
def test_examples_and_what_passes_are_fields_of_the_form(editor, server):
    """They are written into the text, read back and saved; an example with more than texts stays in the file."""
    create(server, "polite")
    editor.visit.open("metrics/polite/edit")
    editor.at.get_by_text("Rules, notes, examples, what passes").click()
    editor.fill("A case passes if its number is", ">= 1")
    editor.click("button", "Add an example")
    editor.fill("Question of example 1", "May I come in?")
    editor.fill("Answer of example 1", "Go away: now.")
    editor.fill("Value of example 1", "Rude")
    editor.fill("Reason of example 1", "It insults.")
    editor.visit.until(lambda: "Valid" in editor.visit.text(".check-panel"))
    editor.click("button", "Save")
    editor.visit.sees("polite is saved.")
    metric = parse_metric(stored(server, "polite")["yaml"])
    assert metric.pass_if == ">= 1"
    assert [(example.case.answer, example.value, example.reason) for example in metric.examples] == [
        ("Go away: now.", "Rude", "It insults.")
    ]
    text = editor.yaml()
    editor.at.get_by_label("Metric file (YAML)").fill(text.replace("reason: It insults.", "reason: It is rude."))
    editor.mode("Form")
    assert editor.at.get_by_label("Reason of example 1").input_value() == "It is rude."
    text = editor.yaml()
    chunk = text.replace("answer: 'Go away: now.'", "chunks: [{id: c1, text: Go.}]")
    assert chunk != text
    editor.at.get_by_label("Metric file (YAML)").fill(chunk)
    editor.mode("Form")
    hidden = editor.at.get_by_text("Only in the file")
    editor.visit.until(lambda: "examples" in hidden.inner_text())


@pytest.mark.nightly
def test_form_and_text_are_one_document(editor, server):
    """What the form cannot show stays in the text, with comments; the form says so, and shows what the text says."""
    create(server, "tone")
    editor.visit.open("metrics/tone/edit")
    editor.visit.sees("Only in the file")
    editor.visit.sees("reason_depth")
    editor.fill("What it judges", "Whether it is kind: always.")
    text = editor.yaml()
    assert text.startswith("# ours\nname: tone\n")
    assert not [
        part for part in ("reason_depth: detailed", "# one", "'Whether it is kind: always.'") if part not in text
    ]
    editor.at.get_by_label("Metric file (YAML)").fill(text.replace("Read the answer.", "Read it twice."))
    editor.mode("Form")
    editor.at.get_by_label("Step 1", exact=True).wait_for()
    assert editor.at.get_by_label("Step 1", exact=True).input_value() == "Read it twice."
    formula = "name: {name}\ndescription: Half of it.\nformula: 0.5 * correctness  # half\n"
    create(server, "half", formula)
    editor.visit.open("metrics/half/edit")
    editor.visit.sees("formula")
    assert editor.at.get_by_label("Step 1", exact=True).count() == 0
    editor.fill("What it judges", "Half of correctness.")
    editor.visit.until(lambda: "Valid" in editor.visit.text(".check-panel"))
    assert editor.yaml() == formula.format(name="half").replace("Half of it.", "Half of correctness.")


def test_faults_are_marked_at_their_lines(editor, server):
    """A fault in the text has its line marked, and a button that goes there; a broken text does not lose anything."""
    create(server, "tone")
    editor.visit.open("metrics/tone/edit")
    text = editor.yaml()
    editor.at.get_by_label("Metric file (YAML)").fill(text.replace("[answer]", "[answr]"))
    editor.visit.sees("did you mean answer?")
    assert editor.at.locator(".yaml-lines .bad").inner_text() == "4"
    editor.click("button", "Line 4")
    assert editor.at.evaluate(SELECTED) == "needs: [answr]"
    editor.at.get_by_label("Metric file (YAML)").fill("name: [")
    editor.visit.sees("is not YAML")
    editor.mode("Form")
    editor.visit.sees("The form cannot show this text")
    assert editor.at.get_by_label("Metric file (YAML)").input_value() == "name: ["


@pytest.mark.nightly
def test_steps_are_moved_by_keyboard(editor):
    """Alt with an arrow key moves a step, and the focus stays with it."""
    editor.fill("Step 1", "first")
    editor.click("button", "Add a step")
    editor.fill("Step 2", "second")
    editor.visit.press("Alt+ArrowUp")
    assert editor.at.get_by_label("Step 1", exact=True).input_value() == "second"
    assert editor.at.evaluate("document.activeElement.value") == "second"
    editor.click("button", "Move step 1 down")
    assert editor.at.get_by_label("Step 2", exact=True).input_value() == "second"


@pytest.mark.nightly
def test_a_range_has_every_level_described(editor, server):
    """A range shows a field for each level."""
    fill_in(editor, "depth")
    editor.at.get_by_role("radio", name="Range of numbers").check()
    editor.fill("To", "3")
    for level in (1, 2, 3):
        editor.fill(f"What {level} means", f"Depth {level} of it, unlike {level + 5}.")
    editor.click("button", "Save")
    editor.visit.until(lambda: stored(server, "depth").get("scale"))
    metric = parse_metric(stored(server, "depth")["yaml"])
    assert metric.scale.range == (1, 3)
    assert metric.scale.levels[2] == "Depth 2 of it, unlike 7."


@pytest.mark.nightly
def test_a_metric_is_tried_before_it_is_saved(editor, server):
    """The case beside the form is judged by what is written now; nothing is stored."""
    fill_in(editor, "unsaved_one")
    form = editor.at.get_by_role("form", name="Try it")
    form.get_by_label("Answer", exact=True).fill("At nine, dear guest.")
    form.get_by_label("Question", exact=True).fill("When?")
    editor.click("button", "Judge")
    editor.visit.sees("1 result: 1 scored")
    assert stored(server, "unsaved_one")["status"] == 404


@pytest.mark.nightly
def test_changes_survive_leaving(editor, server):
    """Who leaves the editor finds the changes again, and can discard them."""
    create(server, "tone")
    editor.visit.open("metrics/tone/edit")
    editor.fill("What it judges", "Whether it is left.")
    editor.visit.until(lambda: "Valid" in editor.visit.text(".check-panel") and "Not saved" in editor.visit.text())
    editor.visit.until(lambda: "is left" in (editor.at.evaluate("sessionStorage['greval.metric.tone'] ?? ''")))
    editor.click("link", "Runs")
    editor.at.get_by_role("heading", name="Runs").wait_for()
    editor.at.go_back()
    editor.visit.sees("These are your changes that were not saved.")
    assert editor.at.get_by_label("What it judges").input_value() == "Whether it is left."
    editor.click("button", "Discard them")
    editor.visit.until(
        lambda: editor.at.get_by_label("What it judges").input_value() == "Whether the answer is polite."
    )


@pytest.mark.nightly
def test_versions_are_compared_and_restored(editor, server):
    """Each save is a version, whose changes are shown by lines, and which can be restored."""
    create(server, "versioned")
    editor.visit.open("metrics/versioned/edit")
    editor.fill("Step 1", "Read it twice.")
    editor.click("button", "Save")
    editor.visit.sees("versioned is saved.")
    editor.click("button", "Changes since version 1")
    editor.visit.until(lambda: editor.at.locator(".diff .added").count() > 0)
    assert "Read it twice." in editor.visit.text(".diff")
    editor.click("button", "Restore version 1")
    editor.visit.until(lambda: stored(server, "versioned")["steps"] == ["Read the answer."])
    editor.visit.until(lambda: editor.at.get_by_label("Step 1", exact=True).input_value() == "Read the answer.")


@pytest.mark.nightly
def test_what_somebody_else_saved_is_not_overwritten_unasked(editor, server):
    """A save after another one's is refused, and one chooses what counts."""
    editor.visit.expect("412")
    create(server, "shared")
    editor.visit.open("metrics/shared/edit")
    create(server, "shared", TEXT.replace("Courteous.", "Friendly."))
    editor.fill("Step 1", "Mine.")
    editor.click("button", "Save")
    editor.visit.sees("was saved by somebody else")
    assert stored(server, "shared")["steps"] == ["Read the answer."]
    editor.click("button", "Save mine over it")
    editor.visit.until(lambda: stored(server, "shared")["steps"] == ["Mine."])


@pytest.mark.nightly
def test_deleting_asks_first(editor, server):
    """The first click asks, the second deletes."""
    create(server, "short_lived")
    editor.visit.open("metrics/short_lived/edit")
    editor.click("button", "Delete")
    editor.click("button", "Keep it")
    editor.click("button", "Delete")
    editor.click("button", "Delete it")
    editor.visit.until(lambda: editor.at.evaluate("location.hash") == "#/library")
    assert stored(server, "short_lived")["status"] == 404


@pytest.mark.nightly
def test_a_predefined_metric_is_copied(editor, server):
    """What is not one's own is changed under a new name."""
    editor.visit.open("library/correctness")
    editor.click("link", "Copy and edit")
    editor.visit.until(lambda: editor.at.get_by_label("Name", exact=True).input_value() == "correctness_2")
    editor.click("button", "Save")
    editor.visit.until(lambda: editor.at.evaluate("location.hash") == "#/metrics/correctness_2/edit")
    assert stored(server, "correctness_2")["origin"] == "own"
    editor.visit.open("metrics/correctness/edit")
    editor.visit.sees("This metric is not one of your own.")


def test_hostile_texts_stay_text(editor, server):
    """Whatever is written in a field is data: in the form, the file, the verdict and the versions."""
    fill_in(editor, "evil_one")
    for label in ("What it judges", "Category 1", "When category 1 applies", "Step 1"):
        editor.fill(label, EVIL)
    editor.at.get_by_text("Rules, notes, examples, what passes, and a judge of its own").click()
    editor.fill("Rules", EVIL)
    editor.click("button", "Add a note")
    editor.fill("Name of note 1", "more")
    editor.fill("What note 1 says", EVIL)
    editor.click("button", "Add an example")
    for label in ("Question", "Answer", "Value", "Reason", "Note more"):  # the value is the name of a category
        editor.fill(f"{label} of example 1", EVIL)
    editor.visit.until(lambda: "Valid" in editor.visit.text(".check-panel"))
    metric = parse_metric(editor.yaml())
    assert metric.description == metric.examples[0].reason == metric.examples[0].notes["more"] == EVIL
    form = editor.at.get_by_role("form", name="Try it")
    form.get_by_label("Answer", exact=True).fill(EVIL)
    form.get_by_label("Question", exact=True).fill(EVIL)
    editor.click("button", "Judge")
    editor.visit.sees("1 result")
    editor.click("button", "Save")
    editor.visit.until(lambda: stored(server, "evil_one").get("description") == EVIL)
    assert editor.at.evaluate("window.hit") is None
    assert editor.at.locator("img, main script, [onerror]").count() == 0


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_it(chromium, server, scheme):
    """axe-core finds nothing to mend in any window, and no view is wider than the window."""
    create(server, "seen")
    create(server, "seen", TEXT.replace("Courteous.", "Friendly."))
    with Visit(chromium, server.url, color_scheme=scheme) as visit:
        for view, mode in (("metrics/new", "Form"), ("metrics/seen/edit", "Form"), ("metrics/seen/edit", "YAML")):
            visit.open(view)
            if mode == "YAML":
                visit.at.get_by_role("radio", name="YAML").check()
                visit.at.get_by_label("Metric file (YAML)").fill("name: seen\nneeds: [answr]\n")
                visit.sees("did you mean answer?")
            else:
                visit.at.get_by_text("Rules, notes, examples, what passes, and a judge of its own").click()
                visit.at.get_by_role("button", name="Add an example").click()
            assert find_violations(visit.at) == [], view
