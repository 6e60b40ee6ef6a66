"""Does the order of policies by regret agree with the order by questions that their buffers still answer?

    python packaging/regret_check.py [--window N] [--answerer simulated] FILE ...

Figures for docs/regret.md. Each policy is replayed over each session, with summaries by `--answerer`. Regret is what
`replay` counts: facts needed again per 1,000 tokens that the policy freed. The questions ignore what was needed
later: they are sentences of the recording, drawn at random with a seed, from which one name or number is left out. The
answer is the passage of the last buffer that has most of the other words of the sentence; it is right if it holds what
was left out.
"""

import argparse
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from inspector.api import policy as make_runner
from inspector.api import replay as make_report
from inspector.core.answering import Answerer
from inspector.core.facts.coverage import Passages, content_words
from inspector.core.facts.names import names
from inspector.core.facts.reading import texts
from inspector.core.facts.sentences import sentences
from inspector.core.message import Message
from inspector.core.replay.driver import Ground
from inspector.core.replay.driver import replay_requests as drive
from inspector.core.session import Session
from inspector.core.words import per_cent
from inspector.providers.answerers import answerer
from inspector.transcripts.files import open_transcript

POLICIES = ("roku", "pulse", "pi", "codex", "opencode", "gemini", "learn-claude-code", "none")
QUESTIONS, SEED = 200, 28
FEWEST_WORDS, LONGEST = 5, 300
"""Content words beside the answer, and characters, of a sentence that is asked about."""


class Question(NamedTuple):
    words: frozenset[str]
    answer: str


class Score(NamedTuple):
    policy: str
    compactions: int
    needed: int
    freed: int
    answered: int
    asked: int

    @property
    def regret(self) -> float:
        """Facts needed again per 1,000 tokens freed."""
        return 1_000 * self.needed / self.freed if self.freed else 0.0


def draw_questions(
    messages: Iterable[Message], count: int = QUESTIONS, seed: int = SEED
) -> list[Question]:
    """Draw sentences with a name or number from messages, each with one left out."""
    questions = dict[Question, None]()
    for message in messages:
        for text in texts(message):
            questions.update(dict.fromkeys(_list_questions(text)))
    listed = list(questions)
    return random.Random(seed).sample(listed, min(count, len(listed)))


def _list_questions(text: str) -> Iterator[Question]:
    for sentence in sentences(text):
        answer = next(names(sentence), None) if len(sentence) <= LONGEST else None
        words = (
            content_words(sentence.replace(answer.text, " ")) if answer is not None else frozenset()
        )
        if answer is not None and len(words) >= FEWEST_WORDS:
            yield Question(words, answer.text)


def count_answered(questions: Sequence[Question], buffer: Iterable[Message]) -> int:
    """Count the questions that the best passage of a buffer answers."""
    spoken = [
        sentence for message in buffer for text in texts(message) for sentence in sentences(text)
    ]
    passages = Passages((sentence, content_words(sentence)) for sentence in spoken)
    return sum(question.answer in passages.best(question.words).window for question in questions)


def score_policy(session: Session, name: str, window: int | None, answer: Answerer) -> Score:
    """Replay a policy over a session, and ask its last buffer about all that the recording said."""
    runner, thread = make_runner(name, window=window), session.main
    report = make_report(session, runner, answer=answer)
    settings = runner.policy.settings(
        (*runner.policy.of_client(session.client), *runner.settings), window
    )
    *_, last = drive(
        Ground(thread, window, (), session.side_calls), runner.policy, settings, answer
    )
    questions = draw_questions(thread.messages)
    freed = sum(max(0, step.tokens_before - step.tokens_after) for step in report.compactions)
    answered = count_answered(questions, last.buffer.messages)
    return Score(
        name, len(report.compactions), report.losses.needed_later, freed, answered, len(questions)
    )


def compare_orders(scores: Sequence[Score]) -> tuple[int, int]:
    """Return how many pairs of policies have the same order by regret and by questions, and how many pairs differ."""
    same = other = 0
    for first, second in combinations(scores, 2):
        sign = (first.regret - second.regret) * (second.answered - first.answered)
        same, other = same + (sign > 0), other + (sign < 0)
    return same, other


def main() -> None:
    """Print the scores of each session, and how far the orders agree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--window", type=int)
    parser.add_argument("--answerer", default="simulated")
    parser.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    agreeing = pairs = 0
    for file in arguments.files:
        session = open_transcript(file)
        with closing(answerer(arguments.answerer, session.main.model)) as answer:
            scores = [score_policy(session, name, arguments.window, answer) for name in POLICIES]
        fired = [score for score in scores if score.compactions]
        print(f"{file.name}: {len(session.main.requests)} requests")
        for score in scores:
            print(
                f"  {score.policy:18} {score.compactions:3} compactions, needed again {score.needed:3}, freed "
                f"{score.freed:9,}, {score.regret:6.2f} per 1,000, answers {score.answered} of {score.asked}"
            )
        same, other = compare_orders(fired)
        agreeing, pairs = agreeing + same, pairs + same + other
    print(
        f"same order in {agreeing} of {pairs} pairs ({per_cent(agreeing / pairs) if pairs else '-'})"
    )


if __name__ == "__main__":
    main()
