"""The server as a process, asked by the SDK's own client over standard input and output."""

import sys
from pathlib import Path

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client

from leftoff.platform import paths
from tests.mcp.conftest import SESSION


def in_session(ask):
    """Start the server in the working folder and let a client ask."""

    async def connect():
        server = StdioServerParameters(
            command=sys.executable,
            args=["-P", "-m", "leftoff", "mcp"],
            env=dict(paths.environment()),
            cwd=str(Path.cwd()),
        )
        async with stdio_client(server) as (read, write), ClientSession(read, write) as session:
            await session.initialize()
            return await ask(session)

    return anyio.run(connect)


def test_a_client_finds_a_lost_fact_in_two_calls(story):
    async def ask(session):
        listed = await session.list_tools()
        hits = await session.call_tool("recall", {"query": "why round after the voucher"})
        line = next(each for each in hits.content[0].text.splitlines() if "because rounding" in each)
        record = await session.call_tool("expand", {"id": line.split(" · ")[0]})
        wrong = await session.call_tool("expand", {"id": "nothing"})
        still = await session.call_tool("timeline", {"session": SESSION})
        return listed, record, wrong, still

    listed, record, wrong, still = in_session(ask)
    assert [each.name for each in listed.tools] == ["recall", "expand", "timeline"]
    assert all(each.annotations.read_only_hint for each in listed.tools)
    assert len(listed.model_dump_json(by_alias=True, exclude_none=True)) <= 3600
    assert "loses a cent" in record.content[0].text
    assert not record.is_error
    assert wrong.is_error
    assert "is not an id" in wrong.content[0].text
    assert "pytest tests/test_cart.py" in still.content[0].text
