"""A small corpus of texts with ids and classes, shared by the tests of reading and of the command line."""

from __future__ import annotations

import json

WORDS = {
    "space": "orbit moon rocket launch shuttle satellite lunar engine".split(),
    "sport": "pitcher inning baseball batter league season catcher stadium".split(),
    "cooking": "onion garlic butter recipe oven flour sugar pepper".split(),
}


def records() -> list[dict[str, str]]:
    """60 records: four words of the class's eight, and one that all classes share."""
    found = []
    for number in range(60):
        label = list(WORDS)[number % 3]
        words = [WORDS[label][(number // 3 + step * (1 + number % 5)) % 8] for step in range(4)]
        found.append({"id": f"msg-{number}", "label": label, "text": f"The {' '.join(words)} question, {number}!"})
    return found


def json_lines(end: str = "\n") -> bytes:
    """The corpus as JSON lines."""
    return "".join(json.dumps(record) + end for record in records()).encode()
