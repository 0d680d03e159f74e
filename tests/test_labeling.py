"""The labelling page by plain HTTP: what it answers, whom it refuses, what it saves, how it ends."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import time

import numpy as np
import pytest
from labeling_helpers import corpus, posix, post, request, rested, served, true_answer
from test_cli import refused, run

from hmrf_fast import HMRFKMeans, datasets, labeling
from hmrf_fast import io as files
from hmrf_fast.active import SuperInstances
from hmrf_fast.errors import AnswerError, InputError, StaleError

pytest.importorskip("uvicorn")
pytestmark = pytest.mark.skipif(not posix, reason="signals work differently there")


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("label")
    with served(corpus(folder), "-k", 3, cwd=folder) as one:
        yield one


def test_the_page_runs_its_own_script_only(page):
    found = request(page.url)
    assert found.status == 200 and found.headers["content-type"] == "text/html; charset=utf-8"
    policy = found.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-") and "unsafe" not in policy
    assert found.headers["cache-control"] == "no-store" and found.headers["x-frame-options"] == "DENY"
    assert found.headers["referrer-policy"] == "no-referrer"
    assert b"http" not in found.body.replace(b"http-equiv", b"")


@pytest.mark.parametrize(
    "path",
    [
        "",
        "state",
        "/",
        "../",
        "x/",
        "%2e%2e/",
        "wrong-token/",
        "wrong-token/state",
        "..%2f..%2fetc/passwd",
        "%c3%a9/",
        "%ff/",
    ],
)
def test_without_the_token_nothing_is_told(page, path):
    found = request(f"http://127.0.0.1:{page.port}/{path}")
    assert found.status == 403 and b"token" in found.body
    almost = page.url[:-2] + ("A/" if page.url[-2] != "A" else "B/")
    assert request(almost + path.lstrip("./")).status == 403


def test_no_files_are_served(page):
    root = page.url[page.url.index("/", 8) :]
    for path in ("corpus.jsonl", "page.js", "../corpus.jsonl", "%2e%2e/corpus.jsonl", "state/", "static/page.css"):
        connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=60)
        connection.request("GET", root + path)
        response = connection.getresponse()
        assert response.status in (403, 404, 307), path
        assert b"msg-0" not in response.read()
        connection.close()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "", "[::1"])
def test_other_names_of_this_machine_are_refused(page, host):
    assert request(page.url + "state", Host=host).status == 400


def test_names_of_the_loopback_address_are_not(page):
    assert request(page.url + "state", Host=f"localhost:{page.port}").status == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1", "http://localhost"]
)
def test_other_sites_are_refused(page, origin):
    state = request(page.url + "state").json
    for path, body in (("undo", {"revision": state["revision"]}), ("answer", {})):
        assert post(page, path, body, Origin=origin).status == 403
    assert request(page.url + "state", Origin=origin).status == 403
    assert request(page.url + "state", Sec_Fetch_Site="cross-site").status == 403
    assert request(page.url + "state").json["answered"] == state["answered"]


def test_answers_need_an_origin(page):
    assert request(page.url + "undo", {"revision": 0}, "POST", Content_Type="application/json").status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "POST"])
def test_other_methods_are_refused(page, method):
    own = {"Origin": f"http://127.0.0.1:{page.port}"}
    assert request(page.url + "state", method=method, **own).status == 405
    assert request(page.url, method=method, **own).status == 405
    assert request(page.url + "answer").status == 405


def test_large_bodies_are_refused(page):
    body = {"revision": 0, "pair": [0, 1], "word": "x" * 5000}
    assert post(page, "answer", body).status == 413
    # Without a length the bytes themselves are counted.
    connection = http.client.HTTPConnection("127.0.0.1", page.port, timeout=60)
    pieces = (b"x" * 1000 for _ in range(20))
    headers = {"Content-Type": "application/json", "Origin": f"http://127.0.0.1:{page.port}"}
    try:
        connection.request("POST", page.url[page.url.index("/", 8) :] + "answer", pieces, headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):  # hung up on before all was sent
        pass
    connection.close()


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"[" * 4000, b"null", b"[]", {}, {"revision": 0}, {"revision": "0", "pair": [0, 1], "word": "same"},
        {"revision": True, "pair": [0, 1], "word": "same"}, {"revision": 0, "pair": 3, "word": "same"},
        {"revision": 0, "pair": [0, 1], "word": 1}, {"revision": 0, "pair": [0, 1], "word": "same", "more": 1},
        {"revision": 0, "pair": [0, 1], "word": "maybe"}, b"\xff\xfe", {"revision": 10**400, "pair": [], "word": ""},
    ],
)  # fmt: skip
def test_bad_requests_change_nothing(page, body):
    before = request(page.url + "state").json
    found = post(page, "answer", body)
    assert found.status == 400 and found.json["error"]
    assert request(page.url + "state").json["answered"] == before["answered"]


def test_forms_are_refused(page):
    body = {"revision": 0, "pair": [0, 1], "word": "same"}
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        assert post(page, "answer", body, Content_Type=kind).status == 400


def test_a_second_key_for_the_same_question_is_refused(page):
    state = request(page.url + "state").json
    body = {"revision": state["revision"], "pair": state["question"]["pair"], "word": true_answer(state)}
    after = post(page, "answer", body)
    assert after.status == 200 and after.json["answered"] == state["answered"] + 1
    again = post(page, "answer", body)
    assert again.status == 409 and "answered already" in again.json["error"]
    assert post(page, "undo", {"revision": state["revision"]}).status == 409
    undone = post(page, "undo", {"revision": after.json["revision"]}).json
    assert undone["answered"] == state["answered"] and undone["question"] == state["question"]


def test_connections_come_from_this_machine_only(page):
    # Any other address of this machine is not listened on.
    with socket.socket() as other:
        other.settimeout(5)
        assert other.connect_ex(("127.0.0.2", page.port)) != 0


def test_port_in_use(page, tmp_path):
    told = refused("label", corpus(tmp_path), "--port", page.port)
    assert f"port {page.port} of 127.0.0.1 cannot be used (Address already in use); choose another" in told


def begun(page):
    """A connection that has sent the first byte of an answer's fifty."""
    host, path = f"127.0.0.1:{page.port}", page.url[page.url.index("/", 8) :]
    connection = socket.create_connection(("127.0.0.1", page.port), timeout=60)
    connection.sendall(
        f"POST {path}answer HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Type: application/json\r\n"
        "Content-Length: 50\r\n\r\n{".encode("ascii")
    )
    return connection


def test_bodies_that_never_end(page):
    """Whoever keeps a connection without a word does not keep it for ever."""
    with begun(page) as connection:
        assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("part", ["head", "second head", "body after its answer"])
def test_requests_that_never_end(page, part):
    """A byte now and then is no way to keep a connection either."""
    root = page.url[page.url.index("/", 8) :]
    with socket.create_connection(("127.0.0.1", page.port), timeout=60) as connection:
        length = 50 if part.startswith("body") else 0
        ask = f"GET {root}state HTTP/1.1\r\nHost: 127.0.0.1:{page.port}\r\nContent-Length: {length}\r\n\r\n"
        if part != "head":
            connection.sendall(ask.encode("ascii"))
            assert connection.recv(1 << 20).startswith(b"HTTP/1.1 200 ")
        connection.settimeout(0.5)
        begun, left = time.monotonic(), ask if part.endswith("head") else "x" * 49
        for letter in left:
            try:
                connection.sendall(letter.encode("ascii"))
                if connection.recv(1 << 20) == b"":
                    break
            except TimeoutError:
                continue
            except (BrokenPipeError, ConnectionResetError):
                break
        else:
            pytest.fail(f"held for {time.monotonic() - begun:.0f} s")
    assert request(page.url + "state").status == 200


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_with_everything_saved(number, tmp_path):
    with served(corpus(tmp_path), "-k", 3, "--weights", "w.csv", cwd=tmp_path) as page:
        state = request(page.url + "state").json
        for _ in range(3):
            body = {"revision": state["revision"], "pair": state["question"]["pair"], "word": true_answer(state)}
            state = post(page, "answer", body).json
        for _ in range(10):
            begun(page).close()  # hanging up in the middle of an answer is nothing to speak of
        code, told, wrong = page.end(number)
    assert (code, wrong) == (0, "")
    assert "3 questions answered" in told and "written to corpus.pairs.csv and w.csv (open)" in told
    rows = files.read(tmp_path / "corpus.jsonl")
    known = files.read_constraints(tmp_path / "corpus.pairs.csv", rows.n_rows, rows.ids)
    weights = files.read_weights(tmp_path / "w.csv", rows.n_rows, rows.ids)
    learner = SuperInstances(3, random_state=0).start(rows.matrix, session=tmp_path / "corpus.answers.jsonl")
    np.testing.assert_array_equal(known.must_link, learner.constraints_.must_link)
    np.testing.assert_array_equal(known.cannot_link, learner.constraints_.cannot_link)
    np.testing.assert_array_equal(weights, learner.sample_weight_)


def test_ask_and_label_go_on_with_one_session(tmp_path):
    from test_cli_texts import answering

    data = corpus(tmp_path)
    first = answering("ask", data.name, "-k", 3, keys="d\n?\nq\n", cwd=tmp_path)
    assert "2 questions answered" in first.stdout
    with served(data, "-k", 3, cwd=tmp_path) as page:
        state = request(page.url + "state").json
        assert state["answered"] == 2 and state["last"]["answer"] == "unknown"
        asked = [row["name"] for row in state["question"]["rows"]]
        body = {"revision": state["revision"], "pair": state["question"]["pair"], "word": "different"}
        post(page, "answer", body)
        page.end()
    third = answering("ask", data.name, "-k", 3, keys="u\nq\n", cwd=tmp_path)
    assert "2 questions answered" in third.stdout
    numbers = [rows.split("]")[0].split()[1] for rows in third.stdout.split("\n[")[3:5]]
    assert [f"msg-{number}" for number in numbers] == asked


def test_a_session_of_other_parameters_is_refused(tmp_path):
    data = corpus(tmp_path)
    run("ask", data.name, "-k", 3, cwd=tmp_path)
    told = refused_in(tmp_path, "label", data.name, "-k", 4)
    assert "use the same data and parameters, or another file" in told


def refused_in(folder, *arguments):
    done = run(*arguments, code=2, cwd=folder)
    (sentence,) = done.stderr.splitlines()
    return sentence


def test_the_fit_in_the_background_is_a_fit(page):
    state = rested(page)
    rows = files.read(page.process.args[page.process.args.index("label") + 1])
    learner = SuperInstances(3, random_state=0).start(rows.matrix)
    model = HMRFKMeans(3, random_state=0)
    model.fit(rows.matrix, constraints=learner.constraints_, sample_weight=learner.sample_weight_)
    assert state["answered"] == 0
    clusters = state["fit"]["clusters"]
    assert sorted(cluster["size"] for cluster in clusters) == sorted(np.bincount(model.labels_).tolist())
    assert state["fit"]["error"] == "" and all(len(cluster["terms"]) == 8 for cluster in clusters)


@pytest.fixture
def desk(tmp_path):
    rows = files.read(corpus(tmp_path))
    one = labeling.Desk(rows, 3, session=tmp_path / "s.jsonl", out=tmp_path / "p.csv", budget=4)
    yield one
    one.close()


def test_a_desk_in_python(desk, tmp_path):
    state = desk.state()
    json.dumps(state)
    with pytest.raises(AnswerError, match="'yes'; it must be one of same, different, unknown"):
        desk.answer(0, state["question"]["pair"], "yes")
    with pytest.raises(StaleError):
        desk.answer(0, [0, 0], "same")
    with pytest.raises(InputError, match="no answer to take back"):
        desk.undo(0)
    while state["question"]:
        state = desk.answer(state["revision"], state["question"]["pair"], true_answer(state))
    assert state["stop"] == "budget" and state["answered"] == 4 and state["placed"] >= 3
    with labeling.LabelServer(desk) as page:
        assert request(page.url + "state").json["answered"] == 4
    with pytest.raises(OSError):
        request(page.url)


def test_rows_without_texts_are_shown_by_their_values(tmp_path):
    path = tmp_path / "flowers.csv"
    flowers = datasets.load_iris()
    lines = [f"f{row},{','.join(map(str, values))}" for row, values in enumerate(flowers.data)]
    path.write_text("id,long,wide,petal,leaf\n" + "\n".join(lines) + "\n")
    desk = labeling.Desk(files.read(path), 3, session=tmp_path / "s.jsonl", metric="sqeuclidean")
    question = desk.state()["question"]
    for row in question["rows"]:
        values = dict(zip(("long", "wide", "petal", "leaf"), flowers.data[int(row["name"][1:])], strict=True))
        told = dict(part.rsplit(" ", 1) for part in row["text"].split(", "))
        assert {name: float(value) for name, value in told.items()} == values
    assert question["similarity"] is None
    desk.answer(0, question["pair"], "different")
    while (state := desk.state())["fitting"]:
        time.sleep(0.1)
    desk.close()
    terms = [term for cluster in state["fit"]["clusters"] for term in cluster["terms"]]
    assert {term.split()[0] for term in terms} == {"more", "less"}


def test_what_speaks_for_same_and_what_against(desk):
    question = desk.state()["question"]
    texts = [set(row["text"].lower().replace(",", "").replace("!", "").split()) for row in question["rows"]]
    shared = {name for name, _ in question["shared"]}
    assert shared == {word for word in texts[0] & texts[1] if word in desk._data.features}
    for side, words in enumerate(texts):
        assert {name for name, _ in question["alone"][side]} <= words - texts[1 - side]
    assert question["similarity"] == pytest.approx(sum(strength for _, strength in question["shared"]))
