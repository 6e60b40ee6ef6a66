"""Judge for the simulated provider whether a text carries statements, from the words alone, as `lost` judges.

The question is that of `core.findings.judging`: numbered statements, then the text.
"""

import re

from inspector.core.facts.coverage import Passages, content_words
from inspector.core.facts.sentences import sentences
from inspector.core.jsontext import dumps

_QUESTION = re.compile(
    r"<statements>\n(?P<statements>.*?)\n</statements>\s*<text>\n(?P<text>.*)\n</text>", re.DOTALL
)
_STATEMENT = re.compile(r"(?m)^(\d{1,4})\. (.+)$")
_CARRIED, _GONE = 0.5, 0.2
"""Shares of a statement's content words from which the statement is carried, and below which it is gone."""
_LONGEST = 30
"""Maximum number of words of the evidence."""


def answer_verdicts(request: str) -> str | None:
    """Return the verdicts as a JSON list; None if the request does not ask for any. O(text)."""
    question = _QUESTION.search(request)
    if question is None:
        return None
    passages = Passages(
        (sentence, content_words(sentence)) for sentence in sentences(question["text"])
    )
    verdicts = []
    for number, statement in _STATEMENT.findall(question["statements"]):
        cover = passages.best(content_words(statement))
        verdict = "unsure" if cover.share >= _GONE else "gone"
        evidence = ""
        if cover.share >= _CARRIED:
            verdict, evidence = "carried", " ".join(cover.sentence.split()[:_LONGEST])
        verdicts.append({"row": int(number), "verdict": verdict, "evidence": evidence})
    return dumps(verdicts)
