"""How many tokens a text has for a judge: counted where that can be done, else estimated and said so."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from greval.records.record import Record

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from tiktoken import Encoding

FETCH_SECONDS = 3.0
"""An encoding that is not on this machine is fetched by tiktoken, which itself would wait for ever."""

ASK_SECONDS = 10.0
ASCII_LETTERS = 4.0
OTHER_LETTERS = 1.5
ESTIMATED = "estimated: 4 letters a token, 1.5 in scripts other than Latin without accents"
OWN = "the model's own tokenizer"
OPENAI_HOST = "api.openai.com"

Made = TypeVar("Made")


class TokenCount(Record):
    """How many tokens a text has, whether that was counted or estimated, and how."""

    tokens: int
    exact: bool
    how: str


class TokenCounter:
    """Counts the tokens of texts; where its way fails it estimates, from then on, and says so.

    `exact` and `how` tell of all texts so far. What a provider adds around each message, some 4 tokens,
    is not counted.

    Args:
        way: Gives the tokens of a text, None to estimate.
        how: What the way is called.
    """

    def __init__(self, way: Callable[[str], int] | None = None, how: str = ESTIMATED) -> None:
        """Keep the way."""
        self._way = way
        self.exact = way is not None
        self.how = how

    def __call__(self, text: str) -> int:
        """Give the tokens of a text."""
        return self.count(text).tokens

    def count(self, text: str) -> TokenCount:
        """Give the tokens of a text with how they were found."""
        if self._way is not None:
            try:
                return TokenCount(tokens=self._way(text), exact=True, how=self.how)
            except Exception as error:  # noqa: BLE001 - an estimate stands in for whatever a server or library raises
                self._way, self.exact = None, False
                self.how = f"{ESTIMATED}; {self.how} failed ({type(error).__name__})"
        return TokenCount(tokens=estimated(text), exact=False, how=self.how)


def estimated(text: str) -> int:
    """Estimate the tokens of a text: 4 ASCII letters a token, 1.5 letters of other scripts.

    Returns:
        At least 1 for a text that is not empty.

    Example:
        >>> estimated("When does it open?"), estimated("いつ開きますか"), estimated("")
        (5, 5, 0)
    """
    others = 0 if text.isascii() else sum(letter > "\x7f" for letter in text)
    return -int(-((len(text) - others) / ASCII_LETTERS + others / OTHER_LETTERS) // 1)


def counter(model: BaseChatModel) -> TokenCounter:
    """Give what counts tokens as a chat model does, as closely as that can be known here.

    OpenAI's models are counted with tiktoken, whose encoding is read from this machine or fetched once
    from OpenAI within 3 seconds; a llama.cpp server, such as the embedded model, is asked itself. All
    others are estimated. A count blocks while a server is asked.

    Args:
        model: Any chat model of LangChain.

    Example:
        >>> from greval.testing import ScriptedJudge
        >>> count = counter(ScriptedJudge([]))
        >>> count("When does it open?"), count.exact
        (5, False)
    """
    if (way := _server_way(model)) is not None:
        return TokenCounter(way, OWN)
    if _speaks_openai(model) and (name := _encoding_name(str(getattr(model, "model_name", "")))):
        encoding = _encoding(name)
        if encoding is not None:
            return with_encoding(encoding)
    return TokenCounter()


def with_encoding(encoding: Encoding) -> TokenCounter:
    """Give what counts tokens with an encoding of tiktoken; words such as <|endoftext|> are plain text."""
    return TokenCounter(lambda text: len(encoding.encode_ordinary(text)), f"tiktoken {encoding.name}")


def _speaks_openai(model: BaseChatModel) -> bool:
    """Tell whether a model is one of langchain-openai's, whose classes are not imported for it."""
    return "BaseChatOpenAI" in {cls.__name__ for cls in type(model).__mro__}


def _server_way(model: BaseChatModel) -> Callable[[str], int] | None:
    """Give a way to ask the server that a model speaks to, None where it counts no tokens.

    llama.cpp has /tokenize beside /v1. Its client already knows the key and the address.
    """
    client = getattr(model, "root_client", None) if _speaks_openai(model) else None
    base = getattr(client, "base_url", None)
    if client is None or base is None or base.host == OPENAI_HOST:
        return None
    address = str(base.join("../tokenize" if base.path.rstrip("/").endswith("/v1") else "tokenize"))

    def ask(text: str, seconds: float = ASK_SECONDS) -> int:
        asked = client.with_options(timeout=seconds, max_retries=0)
        answer = asked.post(address, body={"content": text}, cast_to=object)
        return len(answer["tokens"])

    try:
        return ask if ask("a", FETCH_SECONDS) else None
    except Exception:  # noqa: BLE001 - a server that does not know the address answers in its own way
        return None


def _encoding_name(model: str) -> str | None:
    """Give the encoding of a model of OpenAI, None where tiktoken does not know the model."""
    try:
        import tiktoken

        return tiktoken.encoding_name_for_model(model)
    except (ImportError, KeyError):
        return None


@cache
def _encoding(name: str) -> Encoding | None:
    """Give an encoding, None where it cannot be had in time; asked once in a process."""
    import tiktoken

    return _within(FETCH_SECONDS, lambda: tiktoken.get_encoding(name))


def _within(seconds: float, make: Callable[[], Made]) -> Made | None:
    """Give what a function makes, None where it fails or is late; a late one is left behind."""
    made: queue.SimpleQueue[Made | None] = queue.SimpleQueue()

    def run() -> None:
        try:
            made.put(make())
        except Exception:  # noqa: BLE001 - whatever a library raises, there is nothing to give
            made.put(None)

    threading.Thread(target=run, name="greval-tokens", daemon=True).start()
    try:
        return made.get(timeout=seconds)
    except queue.Empty:
        return None
