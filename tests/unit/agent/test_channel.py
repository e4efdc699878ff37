from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, HumanMessage

from sophos.agent.channel import merged

IDS = st.integers(0, 6).map(lambda n: f"id{n}")
MESSAGE = st.builds(lambda i, t: HumanMessage(id=i, content=t), IDS, st.text(max_size=3))
WRITES = st.lists(st.lists(MESSAGE, max_size=4), max_size=5)


def unique(writes: list[list[HumanMessage]]) -> list[BaseMessage]:
    return merged([], writes)


@given(WRITES, WRITES, WRITES)
def test_writes_one_by_one_or_all_at_once_give_the_same(
    state: list[list[HumanMessage]], first: list[list[HumanMessage]], then: list[list[HumanMessage]]
) -> None:
    start = unique(state)
    assert merged(merged(start, first), then) == merged(start, first + then)


@given(WRITES)
def test_giving_the_same_again_changes_nothing(writes: list[list[HumanMessage]]) -> None:
    once = unique(writes)
    assert merged(once, [once]) == once


def test_a_message_with_a_known_id_replaces_it_in_its_place() -> None:
    first, second = HumanMessage(id="a", content="1"), HumanMessage(id="b", content="2")
    changed = HumanMessage(id="a", content="3")
    assert merged([first, second], [[changed]]) == [changed, second]
