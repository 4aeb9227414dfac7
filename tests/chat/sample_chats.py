"""Sample chats."""

from datetime import UTC, datetime, timedelta

from leftoff.chat.page import Header, Parent, Restoration, Tokens, Turn

AT = datetime(2025, 12, 30, 11, 21, 53, 123456, tzinfo=UTC)
SUMMARY = (
    "**Background Context:** Initial session.\n\n**Current Session Summary:**\n**Topics Discussed:**\n- limits\n\n"
    "**Decisions Made:**\n- a token bucket\n\n**Pending:**\n- tests"
)


def header(**fields):
    return Header(
        **{
            "session_id": "sally_1",
            "date": AT,
            "agent": "Simple Sally",
            "agent_path": "/agents/sally/agent.py",
        }
        | fields
    )


def turn(query="What now?", answer="This.", **fields):
    return Turn(
        **{
            "at": AT + timedelta(seconds=30),
            "query": query,
            "answer": answer,
            "seconds": 3.24,
            "tokens": Tokens(input_tokens=1123, output_tokens=222),
        }
        | fields
    )


def restoration(**fields):
    parent = Parent(session_id="session_2", path="/chats/session_2.md", queries=5, tokens=2345)
    return Restoration(
        **{
            "at": AT,
            "parent": parent,
            "answer": "Ready!",
            "seconds": 2.1,
            "tokens": Tokens(input_tokens=89, output_tokens=67),
        }
        | fields
    )
