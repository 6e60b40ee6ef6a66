"""Paraphrases of sayings in messages: a quick refusal changes no answer."""

from random import Random

from inspector.core.facts.coverage import Passages
from inspector.core.facts.wording import Saying, Speech, judge
from inspector.core.message import Message, Text

WORDS = [
    *("keep", "the", "tests", "in", "folder", "never", "change", "file", "before", "commits"),
    *("src/app.py", "version", "3.11", "42"),
]


def _sentence(random: Random) -> str:
    return " ".join(random.choices(WORDS, k=random.randint(4, 9))).capitalize() + "."


def test_paraphrase_of_sayings_with_numbers_and_files_is_that_of_the_whole_judgement() -> None:
    random = Random(7)
    found = 0
    for number in range(300):
        message = Message(
            f"m{number}", "assistant", (Text(" ".join(_sentence(random) for _ in range(4))),)
        )
        saying = Saying(_sentence(random))
        speech = Speech()
        echo = judge(saying, Passages(speech.sentences_of(message)))
        expected = (echo.share, echo.nearest) if echo.verdict == "carried" else None
        assert speech.paraphrase(saying, message) == expected
        found += expected is not None
    assert found > 10
