"""A local substitute for the part of OpenAI's Responses API that Codex needs.

POST /v1/responses, streamed. The prompt says what to answer (directives.py). A request that ends with Codex's prompt for a
compaction gets a summary. Run as a program with the folder for recorded requests as its argument.
"""

import json
import sys
import uuid
from pathlib import Path

from directives import DEFAULT_USAGE_TOKENS, SUMMARY, Call, Reply, Script, never_answers, trim_proposal
from local_api import LONG_SECONDS, Answer, Body, serve
from received import Message, from_responses_api

OUTPUT_TOKENS = 20
OPAQUE_SUMMARY = "local-opaque-summary"
FREEFORM_TOOLS = {"apply_patch", "exec"}


class ResponsesApi:
    def __init__(self) -> None:
        self.script = Script()

    def __call__(self, path: str, body: Body) -> Answer:
        if path != "/v1/responses":
            return Answer(kind="unknown", status=404, payload={"error": {"message": f"no such path: {path}"}})
        if body["input"][-1]["type"] == "compaction_trigger":  # OpenAI as provider: the summary is opaque
            return Answer(
                kind="summary", events=stream([{"type": "compaction", "encrypted_content": OPAQUE_SUMMARY}])
            )
        messages = from_responses_api(body)
        if asks_for_summary(messages):
            return Answer(kind="summary", events=events(Reply(text=SUMMARY)))
        if asks_for_title(body):
            return Answer(kind="side", events=events(Reply(text='{"title": "side"}')))
        proposed = trim_proposal(messages)
        if proposed is not None:
            delay = LONG_SECONDS if never_answers(messages) else 0
            return Answer(kind="proposal", events=events(Reply(text=proposed)), delay_seconds=delay)
        reply = self.script.next(messages)
        if reply.too_long:
            return Answer(kind="refused", events=refusal())
        delay = LONG_SECONDS if reply.never_comes else 0
        return Answer(kind="reply", events=events(reply), delay_seconds=delay)


def asks_for_summary(messages: list[Message]) -> bool:
    last = messages[-1]["blocks"] if messages else []
    return any("CONTEXT CHECKPOINT COMPACTION" in block["text"] for block in last if block["type"] == "text")


def asks_for_title(body: Body) -> bool:
    """Return whether this is the separate request in which Codex, on a terminal, asks for a title for a new thread."""
    schema = body.get("text", {}).get("format", {}).get("schema", {})
    return [*schema.get("properties", {})] == ["title"]


def events(reply: Reply) -> list[Body]:
    return stream(items(reply), reply.used_tokens)


def stream(output: list[Body], used_tokens: int = DEFAULT_USAGE_TOKENS) -> list[Body]:
    response = new_id("resp")
    sent: list[Body] = [{"type": "response.created", "response": {"id": response}}]
    for index, item in enumerate(output):
        sent.append({"type": "response.output_item.added", "output_index": index, "item": item})
        sent.append({"type": "response.output_item.done", "output_index": index, "item": item})
    usage = {
        "input_tokens": max(used_tokens - OUTPUT_TOKENS, 0),
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": used_tokens,
    }
    return [*sent, {"type": "response.completed", "response": {"id": response, "usage": usage}}]


def items(reply: Reply) -> list[Body]:
    output_items: list[Body] = []
    if reply.thinking:
        summary = [{"type": "summary_text", "text": reply.thinking}]
        hidden = f"local-{uuid.uuid4().hex}"
        output_items.append(
            {"type": "reasoning", "id": new_id("rs"), "summary": summary, "encrypted_content": hidden}
        )
    if reply.text or not reply.calls:
        content = [{"type": "output_text", "text": reply.text or "done", "annotations": []}]
        output_items.append({"type": "message", "id": new_id("msg"), "role": "assistant", "content": content})
    return [*output_items, *map(call_item, reply.calls)]


def call_item(call: Call) -> Body:
    if call.tool in FREEFORM_TOOLS:
        names = {
            "type": "custom_tool_call",
            "id": new_id("ctc"),
            "call_id": new_id("call"),
            "name": call.tool,
        }
        return {**names, "input": call.input["input"]}
    names = {"type": "function_call", "id": new_id("fc"), "call_id": new_id("call"), "name": call.tool}
    if call.tool.startswith("mcp__"):  # mcp__SERVER__TOOL, as Claude Code calls it
        namespace, _, name = call.tool.rpartition("__")
        names |= {"namespace": namespace, "name": name}
    return {**names, "arguments": json.dumps(call.input)}


def refusal() -> list[Body]:
    """Return the events that report a full window: Codex learns this from the stream, not from the HTTP status."""
    content = {
        "code": "context_length_exceeded",
        "message": "Your input exceeds the context window of this model.",
    }
    failed = {"id": new_id("resp"), "status": "failed", "error": content}
    return [
        {"type": "response.created", "response": {"id": failed["id"]}},
        {"type": "response.failed", "response": failed},
    ]


def new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex}"


if __name__ == "__main__":
    serve(ResponsesApi(), Path(sys.argv[1]))
