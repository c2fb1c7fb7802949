"""Print the price table that greval ships, from the package genai-prices, which cites the price pages of providers.

    pip install genai-prices
    python benchmarks/update_prices.py > greval/judging/model/prices.yaml

Look at the difference before it is committed: a price that changed without a new model is worth a second source.
"""

from __future__ import annotations

import re
import sys
from datetime import UTC, date, datetime
from importlib.metadata import version
from itertools import chain

from genai_prices.data import providers

PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "google": "google_genai"}
"""The names of providers in genai-prices and in the names of judges."""
JUDGING = re.compile(r"(?:gpt-(?:4\.1|4o|[5-9])|o[1-9]|claude-[a-z]+-[4-9]|gemini-(?:2\.5|[3-9]))[a-z0-9.-]*")
OTHER_USE = re.compile(
    r"image|audio|tts|realtime|transcribe|search|live|research|codex|cyber|instruct|embedding|computer|robotics|\.ft"
)
"""Parts of the names of models that are no judges, such as those of speech."""
COMMENT = """\
# Public list prices in USD per million tokens. Prices change: look at the provider's own page, and give a file of this
# form with `--prices FILE` or `GREVAL_PRICES` where one differs. That file replaces this one.
#
# What no table of this form can hold: discounts of batches, flex and priority tiers, the price of writing to a cache,
# higher prices for long prompts, and prices that begin at a later date.
# `python benchmarks/update_prices.py` writes this file.
"""


def list_prices(today: datetime) -> list[tuple[str, str]]:
    """Return each model as the name of a judge, with its price as YAML."""
    found = []
    for provider in providers:
        models = provider.models if provider.id in PROVIDERS else []
        for model in models:
            if not JUDGING.fullmatch(model.id) or OTHER_USE.search(model.id):
                continue
            price, later = model.get_prices(today), list_later_dates(model.prices, today.date())
            parts = {"input": price.input_mtok, "cached_input": price.cache_read_mtok, "output": price.output_mtok}
            numbers = {name: getattr(part, "base", part) for name, part in parts.items() if part is not None}
            if {"input", "output"} <= {*numbers} and (provider.id != "google" or model.id.startswith("gemini")):
                text = ", ".join(f"{name}: {float(number):g}" for name, number in numbers.items())
                found.append((f"{PROVIDERS[provider.id]}:{model.id}", f"{{{text}}}{later}"))
    return sorted(found, key=lambda one: (list(PROVIDERS.values()).index(one[0].partition(":")[0]), one[0]))


def list_later_dates(prices: object, today: date) -> str:
    """Return a remark on the dates at which another price begins; empty if none is known."""
    listed = prices if isinstance(prices, list) else []
    starts = (getattr(one.constraint, "start_date", None) for one in listed)
    later = [f"{start:%Y-%m-%d}" for start in starts if start and start > today]
    return f"  # another price from {', '.join(later)} on" if later else ""


def main() -> None:
    """Print the table with its date and its source."""
    today = datetime.now(UTC)
    source = (
        f"genai-prices {version('genai-prices')}, from the price pages of OpenAI, Anthropic and Google, standard tier"
    )
    head = [f"as_of: {today:%Y-%m-%d}", f"source: {source}", "models:"]
    rows = (f"  {name}: {price}" for name, price in list_prices(today))
    sys.stdout.write(COMMENT + "\n".join(chain(head, rows)) + "\n")


if __name__ == "__main__":
    main()
