"""Token counts of texts for a judge: exact if a tokenizer is available, else estimated and marked as an estimate."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from tiktoken import Encoding

FETCH_TIMEOUT = 3.0
"""The timeout for an encoding that tiktoken has to download. tiktoken itself has no timeout."""

SERVER_TIMEOUT = 10.0
ASCII_CHARS_PER_TOKEN = 4.0
OTHER_CHARS_PER_TOKEN = 1.5
ESTIMATE_METHOD = "estimated: 4 letters a token, 1.5 in scripts other than Latin without accents"
OWN_TOKENIZER = "the model's own tokenizer"
OPENAI_HOST = "api.openai.com"

Made = TypeVar("Made")


class TokenCounter:
    """Counts the tokens of texts with a function, or estimates them without one or after the function failed.

    `exact` and `how`, the name of the method, cover all texts so far. The tokens that a provider adds to each message,
    about 4, are not counted.
    """

    def __init__(self, count_tokens: Callable[[str], int] | None = None, how: str = ESTIMATE_METHOD) -> None:
        """Store the function and its name."""
        self._way = count_tokens
        self.exact = count_tokens is not None
        self.how = how

    def __call__(self, text: str) -> int:
        """Return the number of tokens of a text."""
        if self._way is not None:
            try:
                return self._way(text)
            except Exception as error:  # noqa: BLE001 - fall back to an estimate on any error of a server or library
                self._way, self.exact = None, False
                self.how = f"{ESTIMATE_METHOD}; {self.how} failed ({type(error).__name__})"
        return estimate_tokens(text)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: 4 ASCII characters a token, or 1.5 characters of other scripts.

    Returns:
        The number of tokens, at least 1 for a text that is not empty.

    Example:
        >>> estimate_tokens("When does it open?"), estimate_tokens("いつ開きますか"), estimate_tokens("")
        (5, 5, 0)
    """
    non_ascii = 0 if text.isascii() else sum(letter > "\x7f" for letter in text)
    # Rounded up.
    return -int(-((len(text) - non_ascii) / ASCII_CHARS_PER_TOKEN + non_ascii / OTHER_CHARS_PER_TOKEN) // 1)


def create_token_counter(model: BaseChatModel) -> TokenCounter:
    """Create the most accurate token counter that is available for a chat model.

    OpenAI's models are counted with tiktoken, whose encoding is read from this machine or downloaded once
    from OpenAI within 3 seconds. A llama.cpp server, such as the embedded model, counts by itself. The tokens of
    all other models are estimated. Counting on a server blocks until the server answers.

    Args:
        model: Any chat model of LangChain.

    Example:
        >>> from greval.testing import ScriptedJudge
        >>> count = create_token_counter(ScriptedJudge([]))
        >>> count("When does it open?"), count.exact
        (5, False)
    """
    if (way := _find_server_tokenizer(model)) is not None:
        return TokenCounter(way, OWN_TOKENIZER)
    if _is_openai(model) and (name := _find_encoding_name(str(getattr(model, "model_name", "")))):
        encoding = _load_encoding(name)
        if encoding is not None:
            # Special tokens such as <|endoftext|> count as plain text.
            return TokenCounter(lambda text: len(encoding.encode_ordinary(text)), f"tiktoken {encoding.name}")
    return TokenCounter()


def _is_openai(model: BaseChatModel) -> bool:
    """Return whether a model's class is from langchain-openai, without importing it."""
    return "BaseChatOpenAI" in {cls.__name__ for cls in type(model).__mro__}


def _find_server_tokenizer(model: BaseChatModel) -> Callable[[str], int] | None:
    """Find a function that counts tokens on the server of a model; llama.cpp serves /tokenize next to /v1."""
    client = getattr(model, "root_client", None) if _is_openai(model) else None
    base = getattr(client, "base_url", None)
    if client is None or base is None or base.host == OPENAI_HOST:
        return None
    address = str(base.join("../tokenize" if base.path.rstrip("/").endswith("/v1") else "tokenize"))

    def count_on_server(text: str, seconds: float = SERVER_TIMEOUT) -> int:
        limited = client.with_options(timeout=seconds, max_retries=0)
        answer = limited.post(address, body={"content": text}, cast_to=object)
        return len(answer["tokens"])

    try:
        # A trial shows whether the server counts tokens.
        return count_on_server if count_on_server("a", FETCH_TIMEOUT) else None
    except Exception:  # noqa: BLE001 - servers without /tokenize fail in various ways
        return None


def _find_encoding_name(model: str) -> str | None:
    """Return the name of the encoding of an OpenAI model, or None if tiktoken does not know the model."""
    try:
        import tiktoken

        return tiktoken.encoding_name_for_model(model)
    except (ImportError, KeyError):
        return None


@cache
def _load_encoding(name: str) -> Encoding | None:
    """Load an encoding, or return None if that fails or times out. The result is cached for the process."""
    import tiktoken

    return _call_with_timeout(FETCH_TIMEOUT, lambda: tiktoken.get_encoding(name))


def _call_with_timeout(seconds: float, make: Callable[[], Made]) -> Made | None:
    """Call a function in a thread, and return None if it fails or times out. A late thread is abandoned."""
    results: queue.SimpleQueue[Made | None] = queue.SimpleQueue()

    def run() -> None:
        try:
            results.put(make())
        except Exception:  # noqa: BLE001 - any error of a library means that there is no result
            results.put(None)

    threading.Thread(target=run, name="greval-tokens", daemon=True).start()
    try:
        return results.get(timeout=seconds)
    except queue.Empty:
        return None
