"""`greval.argilla` with Argilla's SDK and a real server; run in an environment of its own that has the SDK."""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import count, cycle
from pathlib import Path

import pytest

rg = pytest.importorskip("argilla", reason="the SDK is not installed: make test-argilla runs this where it is")

from doc_pages import blocks  # noqa: E402 - the SDK may be missing
from judged_runs import DEPTH, TONE, VALUES, judged, rows  # noqa: E402
from killing import BEFORE, killed_at_call  # noqa: E402
from people import Owner  # noqa: E402
from sklearn import metrics as sklearn_metrics  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import greval.argilla as door  # noqa: E402
from greval import agreement as measure_agreement  # noqa: E402
from greval import evaluate, load_metric, pull_from_argilla, push_to_argilla, read_annotations  # noqa: E402
from greval.cli.argilla import app as command  # noqa: E402
from greval.errors import ArgillaArgumentError, ArgillaError  # noqa: E402
from greval.records.result import Result  # noqa: E402
from greval.runs.store import Store  # noqa: E402
from greval.runs.store.disk import ResultFilter  # noqa: E402
from greval.testing import ScriptedJudge  # noqa: E402  # noqa: E402
from greval.trust.annotations.reading import STATUS_UNKNOWN  # noqa: E402
from greval.trust.argilla.form import JUDGE_FIELD  # noqa: E402
from greval.trust.argilla.push import MAX_BATCH  # noqa: E402

COUNT, MANY = 12, MAX_BATCH + 10
GATE = {"X-Gate": "open"}
BOTH = ("tone", "depth")


@pytest.fixture
def run(tmp_path):
    """Give a run whose answers were judged by two metrics."""
    folder = judged(tmp_path / "run", TONE, COUNT)
    return judged(folder, DEPTH, COUNT)


@pytest.fixture
def connect(owner):
    """Give a function that makes a client of the SDK, closed in the end."""
    with ExitStack() as open_clients:

        def make(url, **more):
            found = rg.Argilla(api_url=url, api_key=owner.key, **more)
            open_clients.callback(found.http_client.close)
            return found

        yield make


@pytest.fixture
def client(connect, proxy):
    """Give a client of the SDK behind a gate that asks for a header."""
    proxy.gate = GATE
    return connect(proxy.url, headers={**GATE})


def create(client, owner, run, *, name="d", metrics=BOTH, **more):
    """Create a dataset with the form of the metrics, and a question, a vector and a metadata property of its own."""
    settings = door.settings(metrics, run=run, **more)
    settings.questions.add(rg.TextQuestion("why", required=False))
    settings.vectors.add(rg.VectorField("place", dimensions=2))
    settings.metadata.add(rg.TermsMetadataProperty("team"))
    return rg.Dataset(name, workspace=owner.workspace, settings=settings, client=client).create()


def answer(dataset, people, *, told=None):
    """Have people answer every record through the SDK; give what each said of each item by metric."""
    told = {} if told is None else told
    values = {"tone": cycle(VALUES["tone"]), "depth": cycle(VALUES["depth"])}
    records = sorted(dataset.records(with_vectors=True), key=lambda one: one.id)
    for number, record in enumerate(records):
        for place, person in enumerate(people):
            said = {name: next(values[name]) for name in values if dataset.questions[name] is not None}
            if place and number % 3:  # the second agrees with the first on two of three records
                said = {name: told[name, record.metadata["sample_id"], people[0]["username"]] for name in said}
            for name, value in said.items():
                record.responses.add(rg.Response(name, value, user_id=person["id"], status="submitted"))
                told[name, record.metadata["sample_id"], person["username"]] = value
    dataset.records.log(records)
    return told


def verdicts(run, metric):
    """Give the judge's value of each sample."""
    with Store.open(run) as store:
        return {row[0]: value for row, value in read_values(store, metric)}


def read_values(store, metric):
    """Yield the keys and values of a metric's results."""
    for line in store.lines(ResultFilter(metrics=(metric,))):
        result = Result.model_validate_json(line)
        yield (result.sample_id, result.method), result.judgements[0].value


@pytest.mark.parametrize("is_made_by_name", [True, False], ids=["made by name", "made with the SDK"])
def test_what_one_door_began_the_other_continues(client, owner, run, *, is_made_by_name):
    """A dataset of the command line is pushed to, answered and pulled with the SDK, and the other way round."""
    named = {"dataset": "d", "workspace": owner.workspace, "url": owner.url}
    words = ["push", run, "-m", "tone", "-m", "depth"]
    words += [part for name, value in named.items() for part in (f"--{name}", value)]
    if not is_made_by_name:
        created = create(client, owner, run)
        door.push(run, BOTH, dataset=created)
    first = CliRunner().invoke(command, [str(word) for word in words])
    assert (f"{COUNT if is_made_by_name else 0} records added" in first.output, first.exit_code) == (True, 0)
    judged(judged(run, TONE, COUNT + 2), DEPTH, COUNT + 2)
    dataset = client.datasets("d", workspace=owner.workspace)
    done = door.push(run, BOTH, dataset=dataset)
    assert (done.added, done.known) == (2, COUNT)
    assert push_to_argilla(run, BOTH, **named).known == COUNT + 2
    told = answer(dataset, [owner.person()])
    pulled = pull_from_argilla(run, **named)
    assert (pulled.metrics, pulled.records, pulled.unanswered) == (BOTH, COUNT + 2, 0)
    stored = read_annotations(run / "annotations.jsonl").annotations
    assert {(row.metric, row.sample_id, row.annotator): row.value for row in stored} == told
    assert sorted(map(repr, door.pull(dataset, BOTH, run=run))) == sorted(map(repr, stored))


@pytest.mark.parametrize("form", ["to_json", "to_list", "flat", "datasets.jsonl", "datasets.parquet"])
def test_exports_of_the_sdk_are_annotations(client, owner, run, tmp_path, form):
    """What Argilla's SDK exports is read as what is pulled, with drafts apart if the export has the statuses."""
    dataset = create(client, owner, run)
    door.push(run, BOTH, dataset=dataset)
    people = [owner.person(), owner.person()]
    told = answer(dataset, people)
    drafted = next(iter(dataset.records()))
    for response in drafted.responses:
        response.status = "draft"
    dataset.records.log([drafted])
    names = {str(person["id"]): person["username"] for person in people}
    file = read_annotations(export_records(dataset, form, tmp_path))
    given = {
        (annotation.metric, annotation.sample_id, names[annotation.annotator]): annotation
        for annotation in file.annotations
    }
    assert {key: annotation.value for key, annotation in given.items()} == told
    assert file.faults == ()
    is_nested = form in {"to_json", "to_list"}
    drafts = {key for key, annotation in given.items() if annotation.status == "draft"}
    assert len(drafts) == (0 if is_nested else 4)
    assert {sample for _, sample, _ in drafts} <= {drafted.metadata["sample_id"]}
    assert any(note.startswith(STATUS_UNKNOWN) for note in file.notes) == is_nested
    overall = measure_agreement(run, "tone", file.annotations, combine="each").groups[0]
    assert overall.things == (COUNT if is_nested else COUNT - 1)


def export_records(dataset, form, folder):
    """Export the records of a dataset with the SDK, and return the file."""
    records = dataset.records(with_responses=True)
    path = folder / (form if form.startswith("datasets") else "records.json")
    if form == "to_json":
        return Path(records.to_json(path))
    if form == "datasets.jsonl":
        records.to_datasets().to_json(path)
    elif form == "datasets.parquet":
        records.to_datasets().to_parquet(path)
    else:
        path.write_text(json.dumps(records.to_list(flatten=form == "flat")), encoding="utf-8")
    return path


def test_a_preference_is_one_field(client, owner, tmp_path):
    """Both answers are one field; what people prefer comes back."""
    run = tmp_path / "run"
    pair = {"id": "q1", "question": "Who?", "method": "a vs b", "answer": "<b>Ada"}
    pair["other_response"] = {"method": "b", "answer": "Bob"}
    evaluate([pair], [load_metric("directness")], ScriptedJudge([{"reason": "r", "value": "A"}]), out=run)
    settings = door.settings("directness", run=run, min_submitted=1)
    dataset = rg.Dataset("d", workspace=owner.workspace, settings=settings, client=client).create()
    dataset.records.log(door.records(run, "directness"))
    done = door.push(run, "directness", dataset=dataset)
    assert (done.added, done.known) == (0, 1)
    (record,) = dataset.records()
    assert {*record.fields.keys()} == {"question", "answer_ab"}
    person = owner.person()
    record.responses.add(rg.Response("directness", "Tie", user_id=person["id"], status="submitted"))
    dataset.records.log([record])
    (row,) = door.pull(dataset, "directness", run=run)
    assert (row.method, row.value) == ("a vs b", "Tie")
    result = door.agreement(dataset, run, "directness")
    assert result.groups[0].judge.figures["accuracy"].value == 1.0


def test_figures_are_those_of_scikit_learn(client, owner, run):
    """Agreement and the classification report are what scikit-learn computes of the labels that were given."""
    dataset = create(client, owner, run)
    door.push(run, BOTH, dataset=dataset)
    person = owner.person()
    told = answer(dataset, [person])
    for metric in BOTH:
        judge = verdicts(run, metric)
        truth = [told[metric, sample, person["username"]] for sample in judge]
        given = [*judge.values()]
        if metric == "tone":
            found = door.agreement(dataset, run, metric).groups[0].judge
            assert found.figures["accuracy"].value == pytest.approx(sklearn_metrics.accuracy_score(truth, given))
            assert found.figures["kappa"].value == pytest.approx(sklearn_metrics.cohen_kappa_score(truth, given))
        else:
            found = door.agreement(dataset, run, metric).groups[0].judge
            assert found.figures["mae"].value == pytest.approx(sklearn_metrics.mean_absolute_error(truth, given))
        labels = [str(value) for value in VALUES[metric]]
        report = door.classification_report(dataset, run, metric, output_dict=True)
        expected = sklearn_metrics.classification_report(
            [str(value) for value in truth],
            [str(value) for value in given],
            labels=labels,
            output_dict=True,
            zero_division=0,
        )
        assert report == expected
        assert "f1-score" in door.classification_report(dataset, run, metric)


def test_suggestions_have_reasons(client, owner, run):
    """With suggestions a record shows the verdict, and what the judge wrote below the name of each metric."""
    dataset = create(client, owner, run, suggestions=True)
    door.push(run, BOTH, dataset=dataset, suggestions=True)
    logged = create(client, owner, run, name="logged", suggestions=True)
    logged.records.log(door.records(run, BOTH, suggestions=True))
    judge = {metric: verdicts(run, metric) for metric in BOTH}
    for found in (dataset, logged):
        records = [*found.records()]
        assert len(records) == COUNT
        for record in records:
            sample = record.metadata["sample_id"]
            assert record.fields[JUDGE_FIELD] == "tone:<br>So it reads.<br>depth:<br>So it reads."
            assert {name: record.suggestions[name].value for name in BOTH} == {
                name: judge[name][sample] for name in BOTH
            }
            assert record.suggestions["tone"].agent
    assert {record.id for record in dataset.records()} == {record.id for record in logged.records()}


@pytest.mark.nightly
def test_a_push_killed_between_batches_is_completed(owner, proxy, tmp_path):
    """Killed with -9 when the first batch is there, the same push sends the rest, and no record twice."""
    run = judged(tmp_path / "many", TONE, MANY)
    options = {"dataset": "d", "workspace": owner.workspace, "key": owner.key}
    batches = count(1)
    killed = killed_at_call(
        proxy,
        lambda _, do, at: at.endswith("/bulk") and next(batches) == 2,
        BEFORE,
        push_to_argilla,
        run,
        "tone",
        **options,
    )
    assert killed
    assert len(owner.records("d")) == MAX_BATCH
    done = push_to_argilla(run, "tone", **options)
    assert (done.added, done.known) == (MANY - MAX_BATCH, MAX_BATCH)
    assert len({record["external_id"] for record in owner.records("d")}) == len(owner.records("d")) == MANY


def test_headers_pass_a_gate(owner, proxy, run, monkeypatch):
    """Headers go with each request; without them the gate is told as what refused."""
    proxy.gate = GATE
    monkeypatch.setenv("ARGILLA_API_URL", proxy.url)
    options = {"dataset": "d", "workspace": owner.workspace}
    with pytest.raises(ArgillaError, match="the gate is closed"):
        push_to_argilla(run, "tone", **options)
    assert push_to_argilla(run, "tone", headers=GATE, **options).added == COUNT
    assert pull_from_argilla(run, headers=GATE, **options).records == COUNT


def test_a_dataset_that_greval_did_not_make(client, owner, run):
    """Answers come from a dataset with records and questions of its own, and verdicts become suggestions in it."""
    settings = rg.Settings(
        fields=[rg.TextField("prompt")],
        questions=[
            rg.LabelQuestion("manners", labels={"polite": "nice", "plain": "so so", "rude": "bad"}),
            rg.RatingQuestion("stars", values=[1, 2, 3, 4, 5], required=False),
            rg.TextQuestion("why", required=False),
        ],
        vectors=[rg.VectorField("place", dimensions=2)],
        metadata=[rg.TermsMetadataProperty("method")],
    )
    dataset = rg.Dataset("mine", workspace=owner.workspace, settings=settings, client=client).create()
    person = owner.person()
    own = []
    for number in range(COUNT):
        said = [rg.Response("manners", ["rude", "plain"][number % 2], user_id=person["id"], status="submitted")]
        if number % 2:
            said.append(rg.Response("stars", 1 + number % 5, user_id=person["id"], status="submitted"))
        method = "walk" if number % 2 else "local"
        own.append(
            rg.Record(
                id=f"q{number}",
                fields={"prompt": "Judge this."},
                metadata={"method": method},
                vectors={"place": [1.0, float(number)]},
                responses=said,
            )
        )
    dataset.records.log(own)
    rows = door.pull(dataset, BOTH, run=run)
    tones = {row.sample_id: row.value for row in rows if row.metric == "tone"}
    assert tones == {f"q{number}": ["Rude", "Plain"][number % 2] for number in range(COUNT)}
    depths = {row.sample_id: row.value for row in rows if row.metric == "depth"}
    assert depths == {f"q{number}": 1 + number % 5 for number in range(1, COUNT, 2)}
    assert {row.content for row in rows} == {None}
    judge = verdicts(run, "tone")
    found = door.agreement(dataset, run, "tone").groups[0].judge
    expected = sklearn_metrics.cohen_kappa_score([tones[value] for value in judge], [*judge.values()])
    assert found.figures["kappa"].value == pytest.approx(expected)

    before = {record.id: record.to_dict() for record in dataset.records(with_vectors=True)}
    done = door.push(run, BOTH, dataset=dataset, suggestions=True)
    assert (done.added, done.known, done.suggested) == (0, COUNT, COUNT)
    after = {record.id: record.to_dict() for record in dataset.records(with_vectors=True)}
    for key, record in before.items():
        assert {**after[key], "suggestions": {}} == {**record, "suggestions": {}}
        assert after[key]["suggestions"]["manners"]["value"] == judge[key].lower()


def test_refusals_come_before_anything_is_sent(client, owner, run):
    """A dataset that is not on the server, or has no question of the metric, is refused by each function."""
    settings = rg.Settings(
        fields=[rg.TextField("prompt")], questions=[rg.LabelQuestion("manners", labels=["yes", "no"])]
    )
    dataset = rg.Dataset("mine", workspace=owner.workspace, settings=settings, client=client)
    with pytest.raises(ArgillaArgumentError, match=r"'mine' is not on the server; call its create\(\)"):
        door.push(run, "tone", dataset=dataset)
    dataset.create()
    for call in (
        lambda: door.pull(dataset, "tone", run=run),
        lambda: door.push(run, "tone", dataset=dataset),
        lambda: door.agreement(dataset, run, "tone"),
    ):
        with pytest.raises(ArgillaArgumentError, match="no question with the labels of tone was found"):
            call()


def test_the_blocks_of_the_page_run(argilla_server, owner, tmp_path, monkeypatch, capsys):
    """The Python blocks of the page that use the SDK run as they stand, with answers between push and pull."""
    monkeypatch.chdir(tmp_path)
    defaults = {"api_url": owner.url, "api_key": owner.key}  # the SDK reads its variables when it is imported
    monkeypatch.setattr(
        rg.Argilla.__init__, "__defaults__", (*defaults.values(), *rg.Argilla.__init__.__defaults__[2:])
    )
    judged(Path("runs/both"), TONE, COUNT)
    judged(Path("runs/both"), DEPTH, COUNT)
    _, first, second, third = blocks("docs/argilla.md", "py")
    with Owner(argilla_server["url"], argilla_server["api_key"], "team") as team:
        namespace = {}
        exec(compile(first, "docs/argilla.md", "exec"), namespace)  # noqa: S102 - our own page
        assert (namespace["pushed"].added, namespace["pushed"].known) == (0, COUNT)
        exec(compile(second, "docs/argilla.md", "exec"), namespace)  # noqa: S102 - our own page
        assert namespace["continued"].known == COUNT
        answer(namespace["dataset"], [team.person()])
        exec(compile(third, "docs/argilla.md", "exec"), namespace)  # noqa: S102 - our own page
    namespace["client"].http_client.close()
    assert len(rows(Path("runs/both/annotations.jsonl"))) == 2 * COUNT
    assert "macro avg" in capsys.readouterr().out
