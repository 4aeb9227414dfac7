"""Session states of every shape that somebody might hand in, for hypothesis."""

from hypothesis import strategies as st

from tests.model import nasty

_item = st.one_of(
    nasty.long_texts,
    st.none(),
    st.integers(),
    st.fixed_dictionaries(
        {"content": nasty.texts}, optional={"status": st.sampled_from(["pending", "completed"])}
    ),
    st.dictionaries(nasty.short_texts, nasty.json_values, max_size=3),
    st.lists(nasty.texts, max_size=3),
)
_items = st.one_of(st.none(), nasty.long_texts, st.lists(_item, max_size=6), nasty.many, st.tuples(_item))
_decisions = st.one_of(
    st.none(),
    nasty.texts,
    st.lists(
        st.one_of(
            nasty.texts,
            st.fixed_dictionaries({"decision": nasty.long_texts}, optional={"rationale": nasty.long_texts}),
            st.dictionaries(nasty.short_texts, nasty.json_values, max_size=3),
        ),
        max_size=6,
    ),
    st.dictionaries(nasty.short_texts, nasty.texts, max_size=4),
)
_metrics = st.one_of(
    st.none(),
    nasty.metrics,
    nasty.metrics.map(lambda metrics: metrics.to_dict()),
    st.fixed_dictionaries(
        {"total_budget": st.integers(1, 10**7), "used_tokens": st.integers(0, 10**8)},
        optional={"percentage_used": st.floats(0, 500), "remaining_tokens": st.integers(-(10**8), 10**8)},
    ),
)

session_states = st.fixed_dictionaries(
    {},
    optional={
        "context_metrics": _metrics,
        "mission_summary": st.one_of(st.none(), nasty.long_texts, st.lists(nasty.texts, max_size=3)),
        "accomplishments": _items,
        "key_findings": _items,
        "decisions": _decisions,
        "next_steps": _items,
        "critical_context": st.one_of(
            st.none(), nasty.mappings, nasty.texts, st.lists(nasty.texts, max_size=4)
        ),
        "metadata": st.one_of(st.none(), nasty.mappings),
        "files_modified": st.one_of(nasty.json_values, nasty.many),
        "agents_used": nasty.json_values,
        "errors": st.one_of(nasty.json_values, nasty.many),
        "session_duration_minutes": nasty.json_values,
        "sources": st.lists(nasty.sources.map(lambda source: source.to_dict()), max_size=3),
        "ground": st.one_of(st.none(), nasty.grounds, nasty.grounds.map(lambda ground: ground.to_dict())),
        "something_else": nasty.json_values,
    },
)
