"""An agent of pydantic-ai; it keeps no history."""

import os

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

agent = Agent(
    OpenAIChatModel("greek", provider=OpenAIProvider(base_url=os.environ["GREEK_API"], api_key="none")),  # noqa: TID251
    name="Greek",
)
