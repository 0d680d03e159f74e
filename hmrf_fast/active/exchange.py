"""Questions and answers in files, for labelling tools and for people who answer later."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hmrf_fast.active.session import parse_object
from hmrf_fast.errors import AnswerError, AwaitingAnswers, InputError

_WORDS = {
    "same": True, "true": True, "1": True, "different": False, "false": False, "0": False,
    "don't know": None, "unknown": None, "none": None, "-1": None,
}  # fmt: skip


class FileOracle:
    """Writes questions to one JSON-lines file and reads answers from another.

    A question is ``{"i": 3, "j": 17, "text_i": ..., "text_j": ...}``, without the texts if none are given; the file
    always holds the questions that are open now. An answer is the same line with ``"answer"`` added, or
    ``{"i": 3, "j": 17, "answer": "same"}``: "same", "different" or "don't know", or true, false or null. Rows may be in
    either order; of several answers to a pair the last counts; lines without an answer are passed over.

    Where an answer is not there yet, ``fit`` ends with ``stop_reason_ == "awaiting answers"``; called again with the
    same session file it goes on. With a larger ``batch_size`` more questions are open at a time.

    Parameters
    ----------
    folder : path-like
        Where the files are; it must exist.
    texts : sequence of n str, optional
        What is shown of each row: its text, or the terms of `top_terms`.
    questions, answers : str
        Names of the two files.

    Raises
    ------
    AnswerError
        When asked: if a line of the answers is malformed; the message names line and value.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        texts: Sequence[str] | None = None,
        *,
        questions: str = "questions.jsonl",
        answers: str = "answers.jsonl",
    ) -> None:
        self.questions = Path(folder) / questions
        self.answers = Path(folder) / answers
        self._texts = texts
        self._answers: dict[tuple[int, int], bool | None] = {}

    @property
    def n_rows(self) -> int | None:
        """Number of texts, or None without any."""
        return None if self._texts is None else len(self._texts)

    def announce(self, pairs: Sequence[tuple[int, int]]) -> None:
        """Read all answers, and write those of the pairs that have none as the open questions.

        Parameters
        ----------
        pairs : sequence of (int, int)

        Raises
        ------
        AnswerError
            If a line of the answers is malformed.
        InputError
            If the questions cannot be written.
        """
        self._answers = self._read()
        lines = [
            json.dumps(self._question(*pair), ensure_ascii=False) for pair in pairs if _key(*pair) not in self._answers
        ]
        partial = self.questions.with_name(self.questions.name + ".new")
        try:
            partial.write_text("".join(line + "\n" for line in lines), encoding="utf-8", errors="replace")
            os.replace(partial, self.questions)
        except OSError as error:
            raise InputError(f"questions cannot be written to {self.questions}: {error.strerror or error}") from error

    def __call__(self, i: int, j: int) -> bool | None:
        """The answer to a pair.

        Raises
        ------
        AwaitingAnswers
            If there is none yet.
        """
        if _key(i, j) not in self._answers:
            raise AwaitingAnswers(f"the pair ({i}, {j}) has no answer in {self.answers} yet")
        return self._answers[_key(i, j)]

    def _question(self, i: int, j: int) -> dict[str, Any]:
        question: dict[str, Any] = {"i": i, "j": j}
        if self._texts is not None:
            question |= {"text_i": str(self._texts[i]), "text_j": str(self._texts[j])}
        return question

    def _read(self) -> dict[tuple[int, int], bool | None]:
        found = {}
        if self.answers.exists():
            try:
                text = self.answers.read_text(encoding="utf-8-sig")
            except UnicodeDecodeError as error:
                raise AnswerError(f"{self.answers} is not UTF-8: byte {error.start} is {error.reason}") from None
            # Not splitlines: texts may hold other characters that end lines, which JSON does not escape.
            for number, line in enumerate(text.split("\n"), start=1):
                record = self._record(line, number) if line.strip() else {}
                if "answer" in record and record["answer"] != "":
                    found[_key(record["i"], record["j"])] = self._answer(record["answer"], number)
        return found

    def _record(self, line: str, number: int) -> dict[str, Any]:
        record = parse_object(line.strip(), f"{self.answers}, line {number}", AnswerError)
        for name in ("i", "j"):
            if type(record.get(name)) is not int or record[name] < 0:
                raise AnswerError(f"{self.answers}, line {number}: {name} = {record.get(name)!r} is not a row number")
        return record

    def _answer(self, value: Any, number: int) -> bool | None:
        word = str(value).strip().lower()
        if isinstance(value, (str, bool, int, type(None))) and word in _WORDS:
            return _WORDS[word]
        raise AnswerError(
            f'{self.answers}, line {number}: answer {value!r} is none of "same", "different", "don\'t know", '
            "true, false, null"
        )


def _key(i: int, j: int) -> tuple[int, int]:
    return (int(min(i, j)), int(max(i, j)))
