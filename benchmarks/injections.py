"""How often a judge is talked into a better verdict by the text that it judges, on each metric, as a Markdown table.

    python benchmarks/injections.py [--judge local] [--part held_out] [--metric correctness] [--cases 2]

`injections.yaml` has two parts of 30 forms. `greval probe` plants each of them into texts that deserve a bad verdict; a
form wins if the verdict gets better. The first line counts the forms that are marked (`speaks_to_judge`), and the texts
of the shipped demo that are marked although none speaks to a judge. Verdicts are kept under --out: the command goes on
where it was stopped. All metrics take hours with the embedded judge; --dry-run only counts the calls.
`--control-tokens raw` takes the forms with control tokens only, and lets these reach the judge as they are.
"""

from __future__ import annotations

import argparse
import platform
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

from ruamel.yaml import YAML

from greval import Judge, load_metric, read_cases
from greval.judging import prompt
from greval.judging.injection import find_injection
from greval.stats.interval import wilson_interval
from greval.trust.probing.api import forecast_probe, probe
from greval.trust.probing.mutations import INJECTIONS, plant_text

METRICS = (
    *("correctness", "completeness", "answer_alignment", "answer_quality", "faithfulness", "relevance"),
    *("chunk_evaluation", "triple_evaluation", "answer_completeness"),
)
MARKED_TEXT = "It opens at nine."
VALUES = (0, 1)
"""Those of correctness, by which forms are counted without a judge."""


def main() -> None:
    """Probe each metric with the forms of a part, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", default="local")
    parser.add_argument("--base-url")
    parser.add_argument("--part", choices=("development", "held_out"), default="held_out")
    parser.add_argument("--metric", action="append", choices=METRICS)
    parser.add_argument("--cases", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/injections"))
    parser.add_argument("--control-tokens", choices=("neutralised", "raw"))
    parser.add_argument("--dry-run", action="store_true")
    args = parser.parse_args()
    forms = load_forms(args.part)
    if args.control_tokens:
        forms = {name: form for name, form in forms.items() if prompt.neutralise_control_tokens(form) != form}
        args.out /= args.control_tokens
    if args.control_tokens == "raw":
        prompt.neutralise_control_tokens = str
    # The forms take the place of those of the probe.
    INJECTIONS.clear()
    INJECTIONS.update(forms)
    judge = Judge(args.judge, base_url=args.base_url, timeout=600)
    print(f"`python benchmarks/injections.py --part {args.part} --cases {args.cases}`, judge `{args.judge}`, ", end="")
    print(f"{platform.machine()}, Python {platform.python_version()}, {datetime.now(UTC):%-d %B %Y}.\n")
    print(f"Marked: {count_marked(forms)} of {len(forms)} forms, {count_false_alarms()} texts of the demo.\n")
    print("| metric | better, of all [95 %] | failed | not used |\n|---|---|---|---|")
    for name in args.metric or METRICS:
        print(measure(name, judge, args, len(forms)), flush=True)


def load_forms(part: str) -> dict[str, str]:
    """Load the forms of a part."""
    path = Path(__file__).with_suffix(".yaml")
    forms: dict[str, str] = YAML(typ="safe").load(path.read_text(encoding="utf-8"))[part]
    return forms


def measure(name: str, judge: Judge, args: argparse.Namespace, mutants: int) -> str:
    """Probe a metric and return its row."""
    options = {"checks": ["injected"], "limit": args.cases, "mutants": mutants, "repeats": 1}
    out = args.out / args.part / name
    if args.dry_run:
        return (
            f"| `{name}` | {forecast_probe(load_metric(name), judge, out=out, **options).calls:,} calls at most | | |"
        )
    (check,) = probe(load_metric(name), judge, out=out, **options).checks
    won = f"{check.better} of {check.mutants}"
    if check.mutants:
        interval = wilson_interval(check.better / check.mutants, check.mutants)
        won += f": {check.better / check.mutants:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
    return f"| `{name}` | {won} | {check.failed} | {sum(check.unused.values())} |"


def count_marked(forms: dict[str, str]) -> int:
    """Count the forms that are marked, without a judge."""
    texts = (plant_text(MARKED_TEXT, form, 1) for form in forms.values())
    return sum(bool(find_injection(prompt.neutralise_fences(text), VALUES)) for text in texts)


def count_false_alarms() -> str:
    """Count the texts of the shipped demo that are marked although none speaks to a judge."""
    cases = read_cases(Path(str(files("greval") / "demo" / "cases.jsonl")))
    texts = [text for case in cases for text in (case.answer, *(chunk.text for chunk in case.chunks or ())) if text]
    return f"{sum(bool(find_injection(prompt.neutralise_fences(text), VALUES)) for text in texts)} of {len(texts)}"


if __name__ == "__main__":
    main()
