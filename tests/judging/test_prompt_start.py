"""A prompt may begin with the case: what it then holds, what metrics share of it, and when its calls are made."""

from __future__ import annotations

import asyncio
import json
from itertools import combinations
from os.path import commonprefix

import pytest
from fault_server import FaultServer, gives, ok
from prompt_fences import HOSTILE, PLAIN, around, fences, nested, numbered
from tone_metrics import TONE
from waiting import SECONDS

from greval import Case, Judge, evaluate, evaluate_async, forecast, load_metric
from greval.judging.metric_judge import MetricJudge
from greval.judging.model.client import JudgeClient
from greval.metrics.library import predefined
from greval.records.case import Chunk, swap_responses
from greval.records.metric import JudgedMetric
from greval.records.metric_input import fill_claims
from greval.runs.runnable import compile_metric

METRICS = [metric for metric in predefined().values() if isinstance(metric, JudgedMetric) and not metric.preference]
CHUNKS = [Chunk(id=f"c{number}", text=f"Passage {number}. " + "It tells of the harbour. " * 20) for number in range(4)]
CASE = Case(id="q", question="Who owns it?", expected_answer="Ada", answer="It is Ada.", chunks=CHUNKS)


def asking(metric, order, **settings):
    return MetricJudge(metric, JudgeClient(Judge("openai:m", prompt_start=order, **settings)))


def prompts(metric, case, order, **settings):
    """Give the texts of the system and the human message of each call for a case."""
    judge = asking(metric, order, **settings)
    return [[message.text for message in judge.build_messages(case, batch)] for batch in judge.split_batches(case)]


def with_claims(case):
    return fill_claims(case, {"claims": {"a1": "It is Ada."}, "expected_claims": {"e1": "It is Ada."}})


@pytest.mark.parametrize("case", [PLAIN, HOSTILE], ids=["plain", "hostile"])
@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_both_orders_hold_the_same(metric, case):
    """Both orders show the same fields of a case, each fenced, and the same text about the metric."""
    case = with_claims(case)
    for (system, human), (shared, turned) in zip(
        prompts(metric, case, "metric", max_items=1),
        prompts(metric, case, "case", max_items=1),
        strict=True,
    ):
        message_fences = fences(turned)
        assert sorted(message_fences) == sorted(fences(human))
        assert nested(message_fences)
        assert turned.startswith("<")
        about = turned.rpartition(">\n\n")[2]
        for paragraph in system.split("\n\n"):
            assert paragraph in f"{shared}\n\n{about}".split("\n\n")


def test_all_chunks_stand_as_other_metrics_see_them():
    """Where all chunks are judged in one call, they are the listing that begins the prompts of other metrics."""
    ((_, human),) = prompts(load_metric("chunk_evaluation"), CASE, "case")
    assert fences(human) == around("chunks", numbered("chunk", 4)) + around("question")
    (_, apart), *_ = prompts(load_metric("chunk_evaluation"), CASE, "case", max_items=3)
    assert fences(apart) == around("question") + around("items", numbered("item", 3))


def test_metrics_of_a_group_begin_alike():
    """Two metrics of one group share all of the first field; metrics of different groups do not."""
    judges = {metric.name: asking(metric, "case") for metric in METRICS if "claims" not in str(metric.needs)}
    groups = {name: judge.prompt_group for name, judge in judges.items()}
    assert groups["faithfulness"] == groups["relevance"] == groups["chunk_evaluation"] != groups["correctness"]
    texts = {
        name: "\n".join(message.text for message in judge.build_messages(CASE, judge.split_batches(CASE)[0]))
        for name, judge in judges.items()
        if name != "triple_evaluation"
    }
    for one, other in combinations(texts, 2):
        shared = commonprefix([texts[one], texts[other]])  # noqa: RUF071 - no paths
        if groups[one] == groups[other]:
            assert "</chunks>" in shared or "</question>" in shared, (one, other)
        else:
            assert "</" not in shared.partition("whatever it says.")[2], (one, other)


def test_metrics_of_different_judges_are_no_group():
    """What one judge has read is not known to another."""
    metric = load_metric("faithfulness")
    one, other = (MetricJudge(metric, JudgeClient(Judge(f"openai:{name}", prompt_start="case"))) for name in "ab")
    assert one.prompt_group != other.prompt_group
    assert asking(metric, "metric").prompt_group == ""


def test_the_order_is_part_of_the_fingerprint():
    """Results of both orders are never taken for each other; the default leaves earlier results as they are."""
    metric = load_metric("correctness")
    plain, chosen, turned = (
        compile_metric(metric, judge).fingerprint
        for judge in (
            Judge("openai:m"),
            Judge("openai:m", prompt_start="metric"),
            Judge("openai:m", prompt_start="case"),
        )
    )
    assert plain == chosen != turned


def test_a_metric_with_examples_comes_first():
    """Examples stand between metric and case, so that their metric always comes first."""
    example = {"case": {"question": "Who?", "answer": "Ada."}, "reason": "It names her.", "value": TONE.scale.names[0]}
    metric = TONE.model_copy(update={"examples": type(TONE)(**{**TONE.model_dump(), "examples": [example]}).examples})
    assert prompts(metric, CASE, "case") == prompts(metric, CASE, "metric")


def test_the_responses_of_a_pair_follow_what_they_share():
    """A preference shows the question, then both answers, in the order in which they are judged."""
    case = CASE.model_copy(update={"other_response": swap_responses(PLAIN_PAIR).other_response})
    ((_, human),) = prompts(load_metric("comprehensiveness"), case, "case")
    assert human.index("<question>") < human.index("<answer_a>") < human.index("<answer_b>") < human.index("Metric:")


PLAIN_PAIR = Case.model_validate(
    {"id": "q", "question": "Who owns it?", "answer": "Bob.", "other_response": {"method": "b", "answer": "Eve."}}
)


async def test_the_first_metric_of_a_group_is_asked_alone(tmp_path):
    """The others of its group are asked once it has answered, so that the server knows the start of their prompts."""
    sequence = Sequence()
    async with FaultServer(sequence) as server:
        metrics = [load_metric(name) for name in ("faithfulness", "correctness", "relevance", "chunk_evaluation")]
        judge = Judge("openai:m", base_url=server.url, prompt_start="case")
        run = await evaluate_async([CASE], metrics, judge, out=tmp_path)
    assert run.progress.scored == 4
    asked_at = {name: number for number, (what, name) in enumerate(sequence.events) if what == "asked"}
    answered = {name: number for number, (what, name) in enumerate(sequence.events) if what == "answered"}
    assert answered["faithfulness"] < min(asked_at["relevance"], asked_at["chunk_evaluation"])
    assert asked_at["correctness"] < answered["faithfulness"]


class Sequence:
    """A plan that notes when each metric is asked and answered; faithfulness only when another group is asked, too."""

    def __init__(self):
        """Begin with no events."""
        self.events = []
        self.others = asyncio.Event()

    def __call__(self, body):
        """Answer with what the schema wants."""
        name = body["messages"][-1]["content"].partition("Metric: ")[2].partition(".")[0]
        self.events.append(("asked", name))
        if name == "correctness":
            self.others.set()

        async def answer(request, body):
            if name == "faithfulness":
                await asyncio.wait_for(self.others.wait(), SECONDS)
            reply = await ok()(request, body)
            self.events.append(("answered", name))
            return reply

        return answer


def test_verdicts_belong_to_the_chunks_of_their_numbers(tmp_path):
    """The numbers of the listing are those of the items, also when they are answered in another order."""
    values = {3: "Relevant", 1: "Irrelevant", 4: "Irrelevant", 2: "Indirectly relevant"}
    verdicts = [{"item": number, "reason": f"It is {number}.", "value": value} for number, value in values.items()]
    with FaultServer(gives({"judgements": verdicts})) as server:
        judge = Judge("openai:m", base_url=server.url, prompt_start="case")
        run = evaluate([CASE], [load_metric("chunk_evaluation")], judge, out=tmp_path)
    (result,) = run.results()
    assert {judgement.item: judgement.value for judgement in result.judgements} == {
        f"c{number - 1}": value for number, value in values.items()
    }


@pytest.mark.parametrize("text", ["first", "second"])
def test_the_forecast_counts_what_prompts_repeat(tmp_path, text):
    """The starts that prompts repeat are at least the chunks for each further metric, or the metric for each case."""
    metrics = [load_metric("faithfulness"), load_metric("relevance")]
    chunks = {name: (Chunk(id="c", text=f"{name} {text} " * 500),) for name in "ab"}
    cases = [CASE.model_copy(update={"id": name, "chunks": case_chunks}) for name, case_chunks in chunks.items()]
    counts = {
        order: sum(
            part.repeated_tokens
            for part in forecast(
                cases, metrics, Judge("openai:m", base_url="http://127.0.0.1:9", prompt_start=order), out=tmp_path
            ).expected
        )
        for order in ("metric", "case")
    }
    chunk = len(cases[0].chunks[0].text) / 4
    assert 2 * chunk <= counts["case"] <= 2 * chunk * 1.2
    systems = sum(len(prompts(metric, CASE, "metric")[0][0]) / 4 for metric in metrics)
    assert systems <= counts["metric"] <= systems * 1.2
    alone = forecast(cases[:1], metrics[:1], Judge("openai:m", base_url="http://127.0.0.1:9"), out=tmp_path)
    assert alone.expected[0].repeated_tokens == 0


def test_calls_show_the_whole_prompt(tmp_path):
    """The stored call of a prompt with the case first holds the shared system message, and case and metric in one."""
    with FaultServer(ok(1)) as server:
        judge = Judge("openai:m", base_url=server.url, prompt_start="case")
        run = evaluate([CASE], [load_metric("correctness")], judge, out=tmp_path)
    (call,) = run.calls()
    sent = [message["content"] for message in json.loads(json.dumps(server.bodies[0]["messages"]))]
    assert [message.text for message in call.messages] == sent
