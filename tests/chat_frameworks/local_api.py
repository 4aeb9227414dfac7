"""A model of ours that speaks as OpenAI's chat completions do: records every request, answers by rule, reports its tokens.

Tokens are words: those of all messages that came in, those of the answer that goes out.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SUMMARY = (
    "<!-- SESSION_SUMMARY_START -->\n**Background Context:** Initial session.\n\n**Current Session Summary:**\n"
    "**Topics Discussed:**\n- SUMMED-UP greek letters\n\n**Decisions Made:**\n- none\n\n**Pending:**\n- none\n"
    "<!-- SESSION_SUMMARY_END -->"
)


class LocalApi:
    """Use it with `with`; ``requests`` are what it was sent, ``usages`` what it said each took."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.usages: list[tuple[int, int]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> "LocalApi":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def texts(self, number: int) -> list[str]:
        """The messages of a request, each as text."""
        return [text(each) for each in self.requests[number]["messages"]]

    def _handler(api) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self of its own
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = answer_to(text(body["messages"][-1]))
                took = (sum(len(text(each).split()) for each in body["messages"]), len(answer.split()))
                api.requests.append(body)
                api.usages.append(took)
                content = streamed(answer, took) if body.get("stream") else whole(answer, took)
                self.send_response(200)
                kind = "text/event-stream" if body.get("stream") else "application/json"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                """Silent: the records say it all."""

        return Handler


def text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)


def answer_to(prompt: str) -> str:
    if prompt.startswith("Generate a progressive session summary:"):
        return SUMMARY
    if prompt.startswith("CONTEXT RESTORATION:"):
        return "I have read the summary. Ready to continue!"
    return f"An answer to {prompt}"


def usage(took: tuple[int, int]) -> dict[str, int]:
    return {"prompt_tokens": took[0], "completion_tokens": took[1], "total_tokens": sum(took)}


def whole(answer: str, took: tuple[int, int]) -> bytes:
    message = {"role": "assistant", "content": answer}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps(_head("chat.completion") | {"choices": [choice], "usage": usage(took)}).encode()


def streamed(answer: str, took: tuple[int, int]) -> bytes:
    pieces = [{"role": "assistant", "content": ""}, *({"content": f"{word} "} for word in answer.split(" "))]
    events = [
        _head("chat.completion.chunk") | {"choices": [{"index": 0, "delta": piece, "finish_reason": None}]}
        for piece in pieces
    ]
    end = {"index": 0, "delta": {}, "finish_reason": "stop"}
    events.append(_head("chat.completion.chunk") | {"choices": [end]})
    events.append(_head("chat.completion.chunk") | {"choices": [], "usage": usage(took)})
    return "".join(f"data: {json.dumps(each)}\n\n" for each in events).encode() + b"data: [DONE]\n\n"


def _head(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1, "model": "greek"}
