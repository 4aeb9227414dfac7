"""The LangGraph example with its own memory: one thread for each conversation."""

import os

from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

model = ChatOpenAI(model="greek", base_url=os.environ["GREEK_API"], api_key="none")  # noqa: TID251


def _talk(state: MessagesState) -> dict:
    return {"messages": [model.invoke(state["messages"])]}


_graph = StateGraph(MessagesState).add_node("talk", _talk).add_edge(START, "talk")
graph = _graph.compile(name="Greek", checkpointer=InMemorySaver())
