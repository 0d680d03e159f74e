"""The labelling page in a real browser: keys, buttons, undo, and the same state after the server is killed."""

from __future__ import annotations

import json
import signal

import pytest
from labeling_helpers import LABEL, PATIENCE, browser, corpus, request, served, true_answer

playwright = pytest.importorskip("playwright.sync_api")
pytest.importorskip("uvicorn")
pytestmark = pytest.mark.skipif(browser() is None, reason="there is no Chromium")

SHOWN = """() => ({
  count: document.getElementById("count").textContent,
  names: [0, 1].map((side) => document.getElementById("name" + side).textContent),
  texts: [0, 1].map((side) => document.getElementById("text" + side).textContent),
  last: document.getElementById("last").textContent,
  clusters: [...document.querySelectorAll("#clusters .card")].map((card) => card.textContent),
})"""

COLORS = """() => {
  const style = getComputedStyle(document.body);
  return [style.backgroundColor, style.color];
}"""


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        # Inside containers Chromium has no sandbox; the page is our own.
        opened = driver.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def tab(chromium):
    """A tab in which nothing goes wrong, and that asks nobody but this machine."""
    one, wrong = chromium.new_page(), []
    one.set_default_timeout(1000 * PATIENCE)
    one.on("pageerror", lambda error: wrong.append(str(error)))
    one.on("request", lambda made: made.url.startswith(("http://127.0.0.1:", "data:")) or wrong.append(made.url))
    yield one
    one.close()
    assert wrong == []


def opened(tab, page):
    tab.goto(page.url)
    tab.wait_for_function("() => document.getElementById('count').textContent !== ''")


def changed(tab, act):
    """Do something, and wait until another number of answers is shown."""
    before = tab.evaluate(SHOWN)
    act()
    tab.wait_for_function("told => document.getElementById('count').textContent !== told", arg=before["count"])
    return tab.evaluate(SHOWN)


def rested(tab):
    """What is shown once the background has caught up."""
    tab.wait_for_function(
        "() => /Clustered with/.test(document.getElementById('fit').textContent) &&"
        " !/again/.test(document.getElementById('fit').textContent)"
    )
    return tab.evaluate(SHOWN)


def test_twenty_answers_a_kill_and_the_same_state(tab, tmp_path):
    data = corpus(tmp_path)
    with served(data, "-k", 3, cwd=tmp_path) as page:
        opened(tab, page)
        for number in range(20):
            word = true_answer(request(page.url + "state").json)
            if number % 2:
                shown = changed(tab, lambda word=word: tab.keyboard.press(word[0]))
            else:
                shown = changed(tab, lambda word=word: tab.click(f"#{word}"))
            assert shown["count"] == f"{number + 1} of 100 answered"
        before, state = rested(tab), request(page.url + "state").json
        page.process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
        page.process.wait(timeout=60)
        tab.keyboard.press("s")
        tab.wait_for_selector("#trouble:not([hidden])")
        assert "Start it again with the same command" in tab.text_content("#trouble")
    assert len((tmp_path / "corpus.answers.jsonl").read_text().splitlines()) == 21
    with served(data, "-k", 3, cwd=tmp_path) as page:
        opened(tab, page)
        assert rested(tab) == before
        again = request(page.url + "state").json
        for name in ("answered", "question", "last", "neighborhoods", "placed", "stop"):
            assert again[name] == state[name]
        assert again["fit"]["clusters"] == state["fit"]["clusters"]


def test_undo_and_do_not_know(tab, tmp_path):
    with served(corpus(tmp_path), cwd=tmp_path) as page:
        opened(tab, page)
        first = tab.evaluate(SHOWN)
        assert tab.is_disabled("#undo")
        unsure = changed(tab, lambda: tab.keyboard.press("x"))
        assert "left open" in unsure["last"] and unsure["names"] != first["names"]
        other = changed(tab, lambda: tab.keyboard.press("?"))
        assert other["count"] == "2 of 100 answered"
        for _ in range(2):
            back = changed(tab, lambda: tab.keyboard.press("u"))
        assert (back["count"], back["names"], back["texts"]) == (first["count"], first["names"], first["texts"])
        # Keys of the browser itself are left to it.
        tab.keyboard.press("Control+s")
        tab.keyboard.press("Control+d")
        assert request(page.url + "state").json["answered"] == 0
        last = [json.loads(line) for line in (tmp_path / "corpus.answers.jsonl").read_text().splitlines()[1:]]
        assert [line.get("answer") for line in last] == [-1, -1, None, None] and last[3] == {"undo": True}


def test_everything_can_be_reached_by_keyboard(tab, tmp_path):
    with served(corpus(tmp_path), "-k", 3, cwd=tmp_path) as page:
        opened(tab, page)
        reached = []
        for _ in range(8):
            tab.keyboard.press("Tab")
            reached.append(tab.evaluate("document.activeElement.id"))
        assert reached[:7] == ["text0", "fold0", "text1", "fold1", "same", "different", "unknown"]
        tab.focus("#different")
        shown = changed(tab, lambda: tab.keyboard.press("Enter"))
        assert "are apart" in shown["last"]


def test_texts_are_shown_as_they_are(tab, tmp_path):
    rows = [
        "<img src=x onerror=alert(1)> orbit moon",
        "<script>alert(2)</script> orbit moon",
        "\u202eorbit moon </style>",
    ]
    rows += [f"moon orbit {word} & \\ud800" for word in ("rocket", "rocket", "launch")]
    data = tmp_path / "bad.jsonl"
    lines = [json.dumps({"id": f"<b>{n}</b>", "text": text}) for n, text in enumerate(rows)]
    data.write_text("".join(line.replace("\\\\ud800", "\\ud800") + "\n" for line in lines))
    with served(data, "-k", 2, "--constraints", _nothing(tmp_path), cwd=tmp_path) as page:
        opened(tab, page)
        seen = set()
        while not tab.is_hidden("#question"):
            shown = tab.evaluate(SHOWN)
            for name, text in zip(shown["names"], shown["texts"], strict=True):
                number = int(name.removeprefix("<b>").removesuffix("</b>"))
                seen.add(number)
                assert text.replace("\ud800", "?").startswith(rows[number].split(" & ")[0])
            assert tab.evaluate("document.querySelectorAll('img, .text script, #question b').length") == 0
            changed(tab, lambda: tab.keyboard.press("d"))
        assert {0, 1, 2} <= seen
        assert "Nothing is left to ask" in tab.text_content("#over")


def _nothing(folder):
    path = folder / "none.csv"
    path.write_text("i,j,type\n")
    return path


def test_the_page_fits(tab, tmp_path):
    with served(corpus(tmp_path), "-k", 3, cwd=tmp_path) as page:
        opened(tab, page)
        assert set(tab.evaluate(SHOWN)["names"]) <= set(LABEL)
        for width in (360, 1200):
            tab.set_viewport_size({"width": width, "height": 800})
            for scheme in ("light", "dark"):
                tab.emulate_media(color_scheme=scheme)
                assert tab.evaluate("document.documentElement.scrollWidth") <= width
                ground, ink = (sum(map(int, color[4:-1].split(", "))) for color in tab.evaluate(COLORS))
                assert (ground < ink) == (scheme == "dark")
                # The answers stay in sight.
                assert tab.evaluate("document.getElementById('same').getBoundingClientRect().bottom") <= 800


@pytest.mark.parametrize("width", [360, 1200])
def test_terms_of_one_row_are_folded_where_there_is_no_room(tab, tmp_path, width):
    tab.set_viewport_size({"width": width, "height": 800})
    with served(corpus(tmp_path), "-k", 3, cwd=tmp_path) as page:
        opened(tab, page)
        assert tab.is_visible("#alone0") == (width > 360)
        tab.click("#fold0")
        assert tab.is_visible("#alone0") == (width == 360)


def test_what_is_told_before_and_after_the_first_answer(tab, tmp_path):
    data = tmp_path / "unlike.jsonl"
    texts = ("orbit moon", "orbit moon", "goal match", "goal match")
    data.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    with served(data, "-k", 2, cwd=tmp_path) as page:
        opened(tab, page)
        assert tab.text_content("#fit").startswith("Nothing is answered yet: the first question is above. ")
        asked = request(page.url + "state").json["question"]
        told = tab.evaluate("document.querySelector('.both h3').textContent")
        assert told == f"{'In' if asked['shared'] else 'Nothing in'} both (similarity {asked['similarity']:.2f})"
        assert tab.is_visible("#shared") == bool(asked["shared"])
        changed(tab, lambda: tab.keyboard.press("d"))
        assert "2 neighbourhoods (rows that belong together as far as answers tell)" in tab.text_content("#fit")
