"""A local substitute for the part of Anthropic's Messages API that Claude Code needs.

POST /v1/messages, streamed or not, and /v1/messages/count_tokens. The prompt says what to answer (directives.py).
A request that asks for "a detailed summary" gets one, so compactions can be triggered. Run as a program with the folder
for recorded requests as its argument.
"""

import json
import sys
import uuid
from pathlib import Path
from typing import Any

from directives import DEFAULT_USAGE_TOKENS, SUMMARY, Reply, Script, never_answers, trim_proposal
from local_api import LONG_SECONDS, Answer, Body, serve
from received import Message, from_messages_api

OUTPUT_TOKENS = 20


class MessagesApi:
    def __init__(self, summary_file: Path) -> None:
        self.script = Script()
        self._summary_file = summary_file

    @property
    def summary(self) -> str:
        """What a request for a summary is answered: the words of a file, if it is there."""
        return self._summary_file.read_text("utf-8") if self._summary_file.exists() else SUMMARY

    def __call__(self, path: str, body: Body) -> Answer:
        if path == "/v1/messages/count_tokens":
            return Answer(kind="count", payload={"input_tokens": DEFAULT_USAGE_TOKENS})
        if path != "/v1/messages":
            return Answer(
                kind="unknown", status=404, payload=error("not_found_error", f"no such path: {path}")
            )
        messages = from_messages_api(body)
        if asks_for_summary(messages):
            return answer(
                "summary",
                body,
                Reply(text=f"<analysis>all of it</analysis>\n<summary>{self.summary}</summary>"),
            )
        proposed = trim_proposal(messages)
        if proposed is not None:
            return answer("proposal", body, Reply(text=proposed, never_comes=never_answers(messages)))
        if not body.get("tools"):  # session titles and similar requests beside the conversation
            return answer("side", body, Reply(text="side"))
        if lacks_thinking(body, messages):
            return refused("Expected `thinking` or `redacted_thinking`, but found another block")
        reply = self.script.next(messages)
        if reply.too_long:
            return refused("prompt is too long: 250000 tokens > 200000 maximum")
        return answer("reply", body, reply)


def asks_for_summary(messages: list[Message]) -> bool:
    """Return whether the user's last message asks for a summary; system texts, such as those of hooks, may follow it."""
    user_messages = [message["blocks"] for message in messages if message["role"] == "user"]
    last = user_messages[-1] if user_messages else []
    return any("a detailed summary" in block["text"] for block in last if block["type"] == "text")


def lacks_thinking(body: Body, messages: list[Message]) -> bool:
    """Return whether a turn under way does not begin with its thinking, which the API demands where thinking has a budget."""
    if (body.get("thinking") or {}).get("type") != "enabled":
        return False
    turn: list[Message] = []
    for message in reversed(messages):
        if message["role"] == "user" and all(block["type"] != "tool_result" for block in message["blocks"]):
            break
        turn.append(message)
    first = next((each for each in reversed(turn) if each["role"] == "assistant"), None)
    return first is not None and first["blocks"][0]["type"] != "thinking"


def refused(message: str) -> Answer:
    return Answer(kind="refused", status=400, payload=error("invalid_request_error", message))


def answer(kind: str, body: Body, reply: Reply) -> Answer:
    message = {
        "id": f"msg_{uuid.uuid4().hex}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "local"),
        "content": content(reply),
        "stop_reason": "tool_use" if reply.calls else "end_turn",
        "stop_sequence": None,
        "usage": usage(reply),
    }
    delay = LONG_SECONDS if reply.never_comes else 0
    if body.get("stream"):
        return Answer(kind=kind, events=events(message), delay_seconds=delay)
    return Answer(kind=kind, payload=message, delay_seconds=delay)


def usage(reply: Reply) -> Body:
    cached_tokens = reply.used_tokens if reply.is_cached else 0
    return {
        "input_tokens": reply.used_tokens - cached_tokens,
        "cache_creation_input_tokens": cached_tokens,
        "cache_read_input_tokens": 0,
        "output_tokens": OUTPUT_TOKENS,
        **({"cache_creation": {"ephemeral_1h_input_tokens": cached_tokens}} if cached_tokens else {}),
    }


def content(reply: Reply) -> list[Body]:
    blocks: list[Body] = []
    if reply.thinking:
        blocks.append(
            {"type": "thinking", "thinking": reply.thinking, "signature": f"local-{uuid.uuid4().hex}"}
        )
    if reply.text or not reply.calls:
        blocks.append({"type": "text", "text": reply.text or "done"})
    for call in reply.calls:
        identity = f"toolu_{uuid.uuid4().hex}"
        blocks.append({"type": "tool_use", "id": identity, "name": call.tool, "input": call.input})
    return blocks


def events(message: Body) -> list[Body]:
    opening = {**message, "content": [], "stop_reason": None}
    stream: list[Body] = [{"type": "message_start", "message": opening}]
    for index, block in enumerate(message["content"]):
        stream.append({"type": "content_block_start", "index": index, "content_block": empty_block(block)})
        stream += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas(block)]
        stream.append({"type": "content_block_stop", "index": index})
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    stream.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": OUTPUT_TOKENS}})
    return [*stream, {"type": "message_stop"}]


def empty_block(block: Body) -> Body:
    """Return a block as it starts, before the deltas fill it."""
    fills: dict[str, Any] = {"text": "", "thinking": "", "signature": "", "input": {}}
    return {key: fills.get(key, value) if key != "type" else value for key, value in block.items()}


def deltas(block: Body) -> list[Body]:
    match block["type"]:
        case "text":
            return [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            thinking = {"type": "thinking_delta", "thinking": block["thinking"]}
            return [thinking, {"type": "signature_delta", "signature": block["signature"]}]
        case _:
            return [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]


def error(kind: str, message: str) -> Body:
    return {"type": "error", "error": {"type": kind, "message": message}}


if __name__ == "__main__":
    recorded = Path(sys.argv[1])
    serve(MessagesApi(recorded.with_name("summary.txt")), recorded)
