"""An agent of openai-agents; a runner runs it, and it keeps no history."""

import os

from agents import Agent, OpenAIChatCompletionsModel, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)
agent = Agent(
    name="Greek",
    instructions="You teach Greek.",
    model=OpenAIChatCompletionsModel(
        model="greek",
        openai_client=AsyncOpenAI(base_url=os.environ["GREEK_API"], api_key="none"),  # noqa: TID251
    ),
)
