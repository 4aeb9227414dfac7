"""A model behind an address that speaks like OpenAI's chat completions or Anthropic's messages; streamed, with its own numbers.

The key comes from an environment variable only, and goes nowhere but over TLS or to this machine. Redirects are not followed:
they would carry the key and the conversation elsewhere.
"""

from __future__ import annotations

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any, Literal
from urllib.parse import urlsplit

import orjson

from leftoff.conversations.values import Tokens
from leftoff.errors import ProcessError, UsageError
from leftoff.flows.chat_agent import Heard, Reply, Reset
from leftoff.system import paths

Api = Literal["openai", "anthropic"]
VARIABLES: dict[Api, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_ENDS: dict[Api, str] = {"openai": "/chat/completions", "anthropic": "/messages"}
_MOST_TOKENS = 4096
_PATIENCE_SECONDS = 600.0
_LONGEST_COMPLAINT = 300
_DONE = b"[DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where to talk to, how, and as whom."""

    url: str
    api: Api
    model: str
    key: str | None


def address(url: str, model: str | None, api: Api | None, key_variable: str | None) -> Address:
    """The whole address; how it speaks is taken from its path, where nobody says it."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UsageError(f"{url}: an address begins with https://, or http:// on this machine.")
    if parts.username or parts.password or parts.query:
        raise UsageError("The address must hold no key: name the environment variable with --key-variable.")
    if not model:
        raise UsageError(f"{url}: which model? Say it: leftoff chat {url} --model NAME")
    spoken: Api = api or ("anthropic" if parts.path.rstrip("/").endswith(_ENDS["anthropic"]) else "openai")
    base = url.rstrip("/")
    key = paths.environment().get(key_variable or VARIABLES[spoken])
    is_here = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if key and parts.scheme == "http" and not is_here:
        raise UsageError(f"{url}: a key is not sent over plain http. Use https.")
    whole = base if base.endswith(_ENDS[spoken]) else base + _ENDS[spoken]
    return Address(url=whole, api=spoken, model=model, key=key)


class Endpoint:
    """Carries the conversation itself, as such servers remember nothing."""

    def __init__(self, where: Address, *, name: str | None = None) -> None:
        self.name = name or where.model
        self.path = f"{where.url}#{where.model}"  # another model there is another agent
        self._where = where
        self._messages: list[dict[str, str]] = []
        self._opener = urllib.request.build_opener(_NoRedirect)

    def ask(self, prompt: str, *, heard: Heard, timeout_seconds: float | None) -> Reply:
        """One request with the whole conversation, its answer heard as it streams."""
        limit = timeout_seconds or _PATIENCE_SECONDS
        messages = [*self._messages, {"role": "user", "content": prompt}]
        pieces: list[str] = []
        usage: dict[str, int] = {}
        for event in self._events(messages, limit):
            _note_usage(event, usage)
            if piece := _piece(event):
                pieces.append(piece)
                heard(piece)
        text = "".join(pieces)
        if text:  # servers refuse a conversation in which somebody says nothing
            self._messages = [*messages, {"role": "assistant", "content": text}]
        return Reply(text=text or None, tokens=_tokens(usage), model=self._where.model)

    def reset(self) -> Reset:
        """The next request carries nothing of what was said."""
        self._messages = []
        return "dropped"

    def _events(self, messages: list[dict[str, str]], limit: float) -> Iterator[dict[str, Any]]:
        deadline = time.monotonic() + limit
        try:
            with self._opener.open(self._request(messages), timeout=limit) as response:
                yield from _whole(_read(response, deadline), self._where.url)
        except urllib.error.HTTPError as error:
            said = error.read(2000).decode("utf-8", "replace")[:_LONGEST_COMPLAINT]
            hint = "" if self._where.key else f" No key was sent: is {VARIABLES[self._where.api]} set?"
            raise ProcessError(f"{self._where.url}: HTTP {error.code}: {said}{hint}") from error
        except TimeoutError:
            raise ProcessError(f"{self._where.url}: no answer within {limit:g} s.") from None
        except http.client.IncompleteRead as error:
            raise ProcessError(f"{self._where.url}: the answer was cut off.") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise ProcessError(f"{self._where.url}: cannot be reached: {reason}.") from error

    def _request(self, messages: list[dict[str, str]]) -> urllib.request.Request:
        body: dict[str, Any] = {"model": self._where.model, "messages": messages, "stream": True}
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self._where.api == "anthropic":
            body["max_tokens"] = _MOST_TOKENS
            headers["anthropic-version"] = "2023-06-01"
            key = {"x-api-key": self._where.key}
        else:
            body["stream_options"] = {"include_usage": True}
            key = {"Authorization": f"Bearer {self._where.key}" if self._where.key else None}
        headers |= {name: value for name, value in key.items() if value}
        return urllib.request.Request(
            self._where.url, data=orjson.dumps(body), headers=headers, method="POST"
        )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Nowhere: urllib then reports the redirect as the error it is to us."""


def _read(response: IO[bytes], deadline: float) -> Iterator[dict[str, Any]]:
    """The events of a stream; a server that does not stream answers with one object."""
    for line in response:
        if time.monotonic() > deadline:
            raise TimeoutError
        data = line.removeprefix(b"data:").strip()
        if data == _DONE:
            yield {"type": "message_stop"}
        elif data and line.startswith((b"data:", b"{")):
            event = orjson.loads(data)
            if isinstance(event, dict):
                yield event


def _whole(events: Iterator[dict[str, Any]], url: str) -> Iterator[dict[str, Any]]:
    """The events of an answer that comes to its end; ProcessError for one that the server breaks off, with or without a word."""
    is_over = True
    for event in events:
        match event:
            case {"error": {"message": str(words)}} | {"error": str(words)}:
                raise ProcessError(f"{url}: {words[:_LONGEST_COMPLAINT]}")
            case {"type": "error"}:
                raise ProcessError(f"{url}: the server broke off with an error that it does not name.")
            case {"type": "message_stop"} | {"choices": [{"finish_reason": str()}, *_]}:
                is_over = True
            case {"choices": [{"delta": _}, *_]} | {"type": "content_block_delta"}:
                is_over = False
            case _:
                pass
        yield event
    if not is_over:
        raise ProcessError(f"{url}: the answer was cut off.")


def _piece(event: dict[str, Any]) -> str | None:
    match event:
        case {"choices": [{"delta": {"content": str(text)}}, *_]}:
            return text
        case {"choices": [{"message": {"content": str(text)}}, *_]}:
            return text
        case {"type": "content_block_delta", "delta": {"text": str(text)}}:
            return text
        case {"type": "message", "content": list(blocks)}:
            return "".join(block.get("text", "") for block in blocks if isinstance(block, dict))
        case _:
            return None


def _note_usage(event: dict[str, Any], usage: dict[str, int]) -> None:
    """Numbers come in several events, and each later one counts."""
    message = event.get("message")
    for holder in (message if isinstance(message, dict) else {}, event):
        told = holder.get("usage")
        if isinstance(told, dict):
            usage |= {name: value for name, value in told.items() if isinstance(value, int)}


def _tokens(usage: dict[str, int]) -> Tokens | None:
    if "prompt_tokens" in usage:
        return Tokens(input_tokens=usage["prompt_tokens"], output_tokens=usage.get("completion_tokens", 0))
    if "input_tokens" in usage:
        cached = usage.get("cache_read_input_tokens", 0) + usage.get("cache_creation_input_tokens", 0)
        return Tokens(
            input_tokens=usage["input_tokens"] + cached, output_tokens=usage.get("output_tokens", 0)
        )
    return None
