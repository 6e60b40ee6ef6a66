"""Judge for the simulated provider whether a text carries statements, from the words alone, as `lost` judges."""

from inspector.core.facts.coverage import Coverage, Passages, content_words
from inspector.core.facts.sentences import sentences
from inspector.core.facts.wording import CARRIED, GONE
from inspector.core.findings.judging import EVIDENCE_WORDS, parse_question
from inspector.core.jsontext import dumps

_HALFWAY = (GONE + CARRIED) / 2
"""Share of a statement's content words from which it is carried here: `lost` is not sure between GONE and CARRIED, and
asks about such statements only."""


def answer_verdicts(request: str) -> str | None:
    """Return the verdicts as a JSON list; None if the request does not ask for any. O(text)."""
    question = parse_question(request)
    if question is None:
        return None
    statements, text = question
    passages = Passages((sentence, content_words(sentence)) for sentence in sentences(text))
    verdicts = []
    for number, statement in statements.items():
        verdict, evidence = _judge(passages.best(content_words(statement)))
        verdicts.append({"row": number, "verdict": verdict, "evidence": evidence})
    return dumps(verdicts)


def _judge(cover: Coverage) -> tuple[str, str]:
    """Return the verdict on a statement, and its evidence, which only a carried statement has."""
    if cover.share >= _HALFWAY:
        return "carried", " ".join(cover.sentence.split()[:EVIDENCE_WORDS])
    return ("unsure" if cover.share >= GONE else "gone"), ""
