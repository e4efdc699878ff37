"""Text of an exact length about anything: a fixed stock of sentences with a gap for the topic."""

from __future__ import annotations

from typing import Final

SENTENCES: Final = (
    "{Topic} looks simple from a distance, and becomes interesting as soon as something goes wrong.",
    "Most people meet {topic} for the first time when they have no time for it.",
    "They read one page, copy one example, and go back to the work that was waiting.",
    "That is a fair way to begin, but it leaves out the part that matters later.",
    "What matters later is what happens on the days that the example did not show.",
    "A useful first question about {topic} is who owns it, and for how long.",
    "The owner decides when it starts, when it ends, and who hears about it.",
    "Without an owner, every small fault becomes a long conversation.",
    "A second question is what must be left when everything else has stopped.",
    "The honest answer is usually shorter than people expect.",
    "A few facts have to stay, and the rest can be worked out again.",
    "Knowing which is which is most of what there is to know about {topic}.",
    "It helps to write those facts down before acting on them, never after.",
    "The order sounds like a detail until the power goes out between the two.",
    "Then one order leaves a note about something that may have happened, and the other leaves nothing.",
    "People who work with {topic} for years speak less about success than about recovery.",
    "They know that a thing done twice can be worse than a thing not done at all.",
    "So they give each piece of work a name, and ask whether that name was seen before.",
    "A name costs almost nothing, and it turns a guess into a lookup.",
    "The third question is what a watcher may believe.",
    "What one sees on a screen is a story told while the work goes on.",
    "The record is what remains when the telling stops, and the two need not agree.",
    "When they differ, the record is right, even if the story was better.",
    "Good tools for {topic} make that difference visible instead of hiding it.",
    "They also fail in a way that a tired person can understand.",
    "A clear sentence at the right moment saves more time than a clever mechanism.",
    "Of course there are costs, and it would be wrong to leave them out.",
    "Every promise has to be kept on the slow days too, and somebody pays for the waiting.",
    "Some promises are not worth their price, and dropping one can be good design.",
    "What is not good design is to drop one without saying so.",
    "There is an old habit of testing only what is meant to work.",
    "With {topic} it pays to do the opposite, and to break things on purpose while it is quiet.",
    "What breaks in a quiet hour can be studied, and what was studied is seldom feared.",
    "After a while the surprising cases start to look alike.",
    "There are only so many places where a thing can stop, and each has its own small remedy.",
    "In the end {topic} is less about machines than about being precise with words such as done.",
)
"""One sentence each; `{topic}` and `{Topic}` stand for what the text is about."""

ENDINGS: Final = (
    "Enough.",
    "That suffices.",
    "That is all.",
    "The rest is practice.",
    "The rest is patient practice.",
    "What is left is patient practice.",
    "That is where this text may end.",
    "And that is where this text may end.",
    "And that is a good place to end it.",
)
"""The nth has n words: what fills the room that is too small for any sentence above."""

SENTENCES_IN_PARAGRAPH: Final = 5


def essay(topic: str, words: int, *, sample: int) -> str:
    """Exactly so many words. A new sample goes through the stock from another sentence on."""
    opening, *others = (
        sentence.format(topic=topic, Topic=topic[:1].upper() + topic[1:]) for sentence in SENTENCES
    )
    start = sample * 7 % len(others)
    in_turn = others[start:] + others[:start]
    text = [opening] if _length(opening) <= words else []
    left = words - sum(_length(sentence) for sentence in text)
    while left > 0:
        fitting = next((text for text in in_turn if _length(text) <= left), None)
        if fitting is None:
            fitting = ENDINGS[left - 1]
        else:
            passed = in_turn.index(fitting) + 1
            in_turn = in_turn[passed:] + in_turn[:passed]
        text.append(fitting)
        left -= _length(fitting)
    paragraphs = range(0, len(text), SENTENCES_IN_PARAGRAPH)
    return "\n\n".join(" ".join(text[at : at + SENTENCES_IN_PARAGRAPH]) for at in paragraphs)


def _length(sentence: str) -> int:
    return len(sentence.split())
