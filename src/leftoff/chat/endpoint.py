"""A model behind an address that speaks like OpenAI's chat completions or Anthropic's messages, streamed.

The key comes from an environment variable only and is sent only over TLS or to this machine. Redirects are not followed: they
would carry the key and the conversation elsewhere.
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

from leftoff.chat.conversation import OnText, Reply, Reset
from leftoff.chat.page import Tokens
from leftoff.errors import ProcessError, UsageError
from leftoff.platform import paths

Api = Literal["openai", "anthropic"]
KEY_VARIABLES: dict[Api, str] = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_PATHS: dict[Api, str] = {"openai": "/chat/completions", "anthropic": "/messages"}
_MAX_OUTPUT_TOKENS = 4096
TIMEOUT_SECONDS = 600.0  # for an answer, where the caller sets no limit
_MAX_ERROR_CHARS = 300
_DONE = b"[DONE]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A server's URL, the API it speaks, the model, and the key (None: none is sent)."""

    url: str
    api: Api
    model: str
    key: str | None


def parse_address(url: str, model: str | None, api: Api | None, key_variable: str | None) -> Address:
    """Return the full address. Without ``api``, the path tells which API the server speaks."""
    parts = urlsplit(url)
    if parts.scheme in {"http", "https"} and not parts.hostname:
        raise UsageError(f"{url} names no host. Example: leftoff chat https://host/v1 --model NAME")
    if parts.scheme not in {"http", "https"}:
        raise UsageError(f"{url}: an address begins with https://, or http:// on this machine.")
    if parts.username or parts.password or parts.query:
        raise UsageError("The address must hold no key: name the environment variable with --key-variable.")
    if not model:
        raise UsageError(f"{url}: which model? Name it: leftoff chat {url} --model NAME")
    api_in_use: Api = api or (
        "anthropic" if parts.path.rstrip("/").endswith(_PATHS["anthropic"]) else "openai"
    )
    base = url.rstrip("/")
    key = paths.environment().get(key_variable or KEY_VARIABLES[api_in_use])
    is_local = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    if key and parts.scheme == "http" and not is_local:
        raise UsageError(f"{url}: a key is not sent over plain http. Use https.")
    full_url = base if base.endswith(_PATHS[api_in_use]) else base + _PATHS[api_in_use]
    return Address(url=full_url, api=api_in_use, model=model, key=key)


class Endpoint:
    """A chat agent behind an address. It keeps the conversation, because such servers do not."""

    def __init__(self, address: Address, *, name: str | None = None) -> None:
        self.name = name or address.model
        self.path = f"{address.url}#{address.model}"  # another model there is another agent
        self._address = address
        self._messages: list[dict[str, str]] = []
        self._opener = urllib.request.build_opener(_NoRedirect)

    def ask(self, prompt: str, *, on_text: OnText, timeout_seconds: float | None) -> Reply:
        """Send the whole conversation in one request and stream the answer."""
        limit = timeout_seconds or TIMEOUT_SECONDS
        messages = [*self._messages, {"role": "user", "content": prompt}]
        pieces: list[str] = []
        usage: dict[str, int] = {}
        for event in self._events(messages, limit):
            _update_usage(event, usage)
            if piece := _text_piece(event):
                pieces.append(piece)
                on_text(piece)
        text = "".join(pieces)
        if text:  # servers refuse a conversation with an empty message
            self._messages = [*messages, {"role": "assistant", "content": text}]
        return Reply(text=text or None, tokens=_tokens(usage), model=self._address.model)

    def reset(self) -> Reset:
        """Drop the conversation."""
        self._messages = []
        return "dropped"

    def _events(self, messages: list[dict[str, str]], limit: float) -> Iterator[dict[str, Any]]:
        deadline = time.monotonic() + limit
        try:
            with self._opener.open(self._request(messages), timeout=limit) as response:
                yield from _check_complete(_read_events(response, deadline), self._address.url)
        except urllib.error.HTTPError as error:
            body_text = error.read(2000).decode("utf-8", "replace")[:_MAX_ERROR_CHARS]
            hint = (
                "" if self._address.key else f" No key was sent: is {KEY_VARIABLES[self._address.api]} set?"
            )
            raise ProcessError(f"{self._address.url}: HTTP {error.code}: {body_text}{hint}") from error
        except TimeoutError:
            raise ProcessError(f"{self._address.url}: no answer within {limit:g} s.") from None
        except http.client.IncompleteRead as error:
            raise ProcessError(f"{self._address.url}: the answer was cut off.") from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or str(error) or type(error).__name__
            raise ProcessError(f"{self._address.url}: cannot be reached: {reason}.") from error

    def _request(self, messages: list[dict[str, str]]) -> urllib.request.Request:
        body: dict[str, Any] = {"model": self._address.model, "messages": messages, "stream": True}
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        if self._address.api == "anthropic":
            body["max_tokens"] = _MAX_OUTPUT_TOKENS
            headers["anthropic-version"] = "2023-06-01"
            key = {"x-api-key": self._address.key}
        else:
            body["stream_options"] = {"include_usage": True}
            key = {"Authorization": f"Bearer {self._address.key}" if self._address.key else None}
        headers |= {name: value for name, value in key.items() if value}
        return urllib.request.Request(
            self._address.url, data=orjson.dumps(body), headers=headers, method="POST"
        )


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Follow no redirect: urllib then reports it as an error."""


def _read_events(response: IO[bytes], deadline: float) -> Iterator[dict[str, Any]]:
    """Yield the events of a stream; a server that does not stream answers with one object."""
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


def _check_complete(events: Iterator[dict[str, Any]], url: str) -> Iterator[dict[str, Any]]:
    """Yield the events. Raise ProcessError if the server reports an error or the stream ends too early."""
    is_complete = True
    for event in events:
        match event:
            case {"error": {"message": str(message)}} | {"error": str(message)}:
                raise ProcessError(f"{url}: {message[:_MAX_ERROR_CHARS]}")
            case {"type": "error"}:
                raise ProcessError(f"{url}: the server broke off with an error that it does not name.")
            case {"type": "message_stop"} | {"choices": [{"finish_reason": str()}, *_]}:
                is_complete = True
            case {"choices": [{"delta": _}, *_]} | {"type": "content_block_delta"}:
                is_complete = False
            case _:
                pass
        yield event
    if not is_complete:
        raise ProcessError(f"{url}: the answer was cut off.")


def _text_piece(event: dict[str, Any]) -> str | None:
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


def _update_usage(event: dict[str, Any], usage: dict[str, int]) -> None:
    """Add the counts of an event to ``usage``: several events report them, and the last one counts."""
    message = event.get("message")
    for holder in (message if isinstance(message, dict) else {}, event):
        reported = holder.get("usage")
        if isinstance(reported, dict):
            usage |= {name: value for name, value in reported.items() if isinstance(value, int)}


def _tokens(usage: dict[str, int]) -> Tokens | None:
    if "prompt_tokens" in usage:
        return Tokens(input_tokens=usage["prompt_tokens"], output_tokens=usage.get("completion_tokens", 0))
    if "input_tokens" in usage:
        cached = usage.get("cache_read_input_tokens", 0) + usage.get("cache_creation_input_tokens", 0)
        return Tokens(
            input_tokens=usage["input_tokens"] + cached, output_tokens=usage.get("output_tokens", 0)
        )
    return None
