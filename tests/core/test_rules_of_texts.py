"""The rules by which texts are known: each that the code names is in the file, and is an expression."""

import re
from pathlib import Path

from inspector.core.facts.rules import rule, word_list

CORE = Path(__file__).parent.parent.parent / "inspector" / "core"


def test_every_rule_that_is_named_is_there() -> None:
    code = "".join(path.read_text() for path in CORE.rglob("*.py"))
    named = re.findall(r'\brule\("([a-z_.]+)"\)', code)
    assert len(named) > 30
    for name in named:
        rule(name).search("")
    for name in re.findall(r'\bword_list\("([a-z_]+)"\)', code):
        assert word_list(name)
