"""Docstrings and comments of modkit/ state facts: no question words first, no figures of speech."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "modkit"

OPENING = re.compile(r"(What|Who|Whose|Whoever|How|Where|Which|Whatever|When)\b(?!-)")
PHRASE = re.compile(
    r"\b(told|asked|met|nobody|nobody's|somebody|whoever|who reads|and their kin)\b", re.IGNORECASE
)
ALLOWED: set[str] = set()
"""Sentences that are exempt, verbatim."""


def checked_files():
    """The files of modkit/."""
    return sorted(ROOT.rglob("*.py"))


def docstrings(tree):
    """Line and text of every string statement: docstrings, also those of attributes."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip()


def comments(source):
    """Line and text of every comment."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string.lstrip("#: ")


def violations(source):
    """The sentences of a file that break a rule, with their lines."""
    sentences = [*docstrings(ast.parse(source)), *comments(source)]
    return [
        f"line {line}: {text.splitlines()[0]!r}"
        for line, text in sentences
        if text not in ALLOWED and (OPENING.match(text) or PHRASE.search(text))
    ]


@pytest.mark.parametrize("path", checked_files(), ids=lambda p: str(p.relative_to(ROOT)))
def test_sentences_state_facts(path):
    assert violations(path.read_text()) == []


@pytest.mark.parametrize(
    "source",
    [
        '"""What a step needs."""',
        '"""How often it runs."""',
        'X = 1\n"""Where it stands."""',
        "x = 1  # nobody reads it",
        'def f():\n    """The result is told to the caller."""',
        "# Whose turn it is.",
    ],
)
def test_violations_are_found(source):
    assert len(violations(source)) == 1


@pytest.mark.parametrize("source", ['"""Whether it runs."""', "# When-clauses", "x = 'What?'"])
def test_plain_sentences_pass(source):
    assert violations(source) == []
