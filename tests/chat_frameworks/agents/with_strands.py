"""An agent of strands-agents; it keeps its own history."""

import os

from strands import Agent
from strands.models.openai import OpenAIModel

agent = Agent(
    model=OpenAIModel(client_args={"api_key": "none", "base_url": os.environ["GREEK_API"]}, model_id="greek"),  # noqa: TID251
    name="Greek",
)
