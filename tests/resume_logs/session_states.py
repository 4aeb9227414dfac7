"""Hypothesis strategies for session states of every shape that another program might write."""

from hypothesis import strategies as st

from tests.support import strategies

_item = st.one_of(
    strategies.long_texts,
    st.none(),
    st.integers(),
    st.fixed_dictionaries(
        {"content": strategies.texts}, optional={"status": st.sampled_from(["pending", "completed"])}
    ),
    st.dictionaries(strategies.short_texts, strategies.json_values, max_size=3),
    st.lists(strategies.texts, max_size=3),
)
_items = st.one_of(
    st.none(), strategies.long_texts, st.lists(_item, max_size=6), strategies.many, st.tuples(_item)
)
_decisions = st.one_of(
    st.none(),
    strategies.texts,
    st.lists(
        st.one_of(
            strategies.texts,
            st.fixed_dictionaries(
                {"decision": strategies.long_texts}, optional={"rationale": strategies.long_texts}
            ),
            st.dictionaries(strategies.short_texts, strategies.json_values, max_size=3),
        ),
        max_size=6,
    ),
    st.dictionaries(strategies.short_texts, strategies.texts, max_size=4),
)
_metrics = st.one_of(
    st.none(),
    strategies.metrics,
    strategies.metrics.map(lambda metrics: metrics.to_dict()),
    st.fixed_dictionaries(
        {"total_budget": st.integers(1, 10**7), "used_tokens": st.integers(0, 10**8)},
        optional={"percentage_used": st.floats(0, 500), "remaining_tokens": st.integers(-(10**8), 10**8)},
    ),
)

session_states = st.fixed_dictionaries(
    {},
    optional={
        "context_metrics": _metrics,
        "mission_summary": st.one_of(
            st.none(), strategies.long_texts, st.lists(strategies.texts, max_size=3)
        ),
        "accomplishments": _items,
        "key_findings": _items,
        "decisions": _decisions,
        "next_steps": _items,
        "critical_context": st.one_of(
            st.none(), strategies.mappings, strategies.texts, st.lists(strategies.texts, max_size=4)
        ),
        "metadata": st.one_of(st.none(), strategies.mappings),
        "files_modified": st.one_of(strategies.json_values, strategies.many),
        "agents_used": strategies.json_values,
        "errors": st.one_of(strategies.json_values, strategies.many),
        "session_duration_minutes": strategies.json_values,
        "sources": st.lists(strategies.sources.map(lambda source: source.to_dict()), max_size=3),
        "ground": st.one_of(
            st.none(), strategies.grounds, strategies.grounds.map(lambda ground: ground.to_dict())
        ),
        "something_else": strategies.json_values,
    },
)
