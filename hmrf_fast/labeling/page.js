"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const KEYS = { s: "same", d: "different", x: "unknown", "?": "unknown", u: "undo" };
  const BUTTONS = ["same", "different", "unknown", "undo"];
  const POLL = { fitting: 500, resting: 4000 }; // milliseconds
  let now = null, busy = false, timer = 0;

  // Texts come in as text nodes only: whatever they hold, none of it becomes part of the page.
  const made = (tag, text, style) => {
    const node = document.createElement(tag);
    if (text !== undefined) node.textContent = text;
    if (style) node.className = style;
    return node;
  };
  const count = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

  function terms(list, found) {
    list.replaceChildren(...found.map(([name, strength]) => {
      const item = made("li"), label = made("bdi", name);
      item.append(label, " ", made("small", strength.toPrecision(2)));
      return item;
    }));
    if (!found.length) list.append(made("li", "nothing", "soft"));
  }

  function marked(box, text, shared, alone) {
    const parts = text.split(/([\p{L}\p{N}_]+)/u).map((word) => {
      const small = word.toLowerCase();
      if (shared.has(small)) return made("mark", word);
      return alone.has(small) ? made("i", word) : word;
    });
    box.replaceChildren(...parts);
    box.scrollTop = 0;
  }

  function showQuestion(asked) {
    at("question").hidden = at("over").hidden = true;
    if (!asked) {
      at("over").hidden = false;
      at("over").textContent = now.stop === "budget"
        ? `All ${now.budget} questions are answered. For more of them, end the program with Ctrl-C and start it with a larger --budget.`
        : "Nothing is left to ask: every row has its place.";
      return;
    }
    const shared = new Set(asked.shared.map(([name]) => name));
    asked.rows.forEach((row, side) => {
      at(`name${side}`).replaceChildren(made("bdi", row.name));
      marked(at(`text${side}`), row.text, shared, new Set(asked.alone[side].map(([name]) => name)));
      terms(at(`alone${side}`), asked.alone[side]);
    });
    terms(at("shared"), asked.shared);
    at("shared").hidden = !asked.shared.length;
    at("both").textContent = asked.shared.length ? "In both" : "Nothing in both";
    at("similarity").textContent = asked.similarity === null ? "" : ` (similarity ${asked.similarity.toFixed(2)})`;
    at("question").hidden = false;
  }

  function showLast(last) {
    if (!last) { at("last").textContent = "Answers are saved as you give them."; return; }
    const [a, b] = last.rows.map((name) => made("bdi", name)), [first, second] = last.sizes;
    const told = {
      same: ["Last answer: ", a, " and ", b, ` belong together, in a neighbourhood of ${count(first, "row", "rows")}.`],
      different: ["Last answer: ", a, " and ", b, ` are apart, in neighbourhoods of ${count(first, "row", "rows")} and ${count(second, "row", "rows")}.`],
      unknown: ["Last answer: left open whether ", a, " and ", b, " belong together."],
    }[last.answer];
    at("last").replaceChildren(...told);
  }

  function showFit(fit) {
    const placed = now.answered
      ? `${count(now.placed, "row", "rows")} placed by ${count(now.answered, "answer", "answers")} in ${count(now.neighborhoods, "neighbourhood", "neighbourhoods")} (rows that belong together as far as answers tell). `
      : "Nothing is answered yet: the first question is above. ";
    if (!fit) { at("fit").textContent = `${placed}The first clustering is being computed\u2026`; return; }
    const flows = fit.flows.map(([from, to, n]) => `${n} from ${from < 0 ? "a cluster that is gone" : from} to ${to}`);
    const moved = fit.moved === null ? "" : `; ${count(fit.moved, "row", "rows")} of ${now.n_rows.toLocaleString("en")} moved since the fit before${flows.length ? ` (${flows.join(", ")})` : ""}`;
    const told = fit.error
      ? `Clustering failed after ${count(fit.answered, "answer", "answers")}: ${fit.error}`
      : `Clustered with ${count(fit.answered, "answer", "answers")} in ${fit.seconds} s${moved}.`;
    at("fit").textContent = `${placed}${told}${now.fitting ? " Clustering again\u2026" : ""}`;
    at("clusters").replaceChildren(...fit.clusters.map((cluster, number) => {
      const card = made("section", undefined, "card"), title = made("h3"), dot = made("span", undefined, "dot");
      card.style.borderTopColor = dot.style.background = cluster.color;
      const known = cluster.known ? `, ${cluster.known} by answers` : "";
      title.append(dot, `Cluster ${number} `, made("small", `${count(cluster.size, "row", "rows")}${known}`));
      const list = made("p");
      list.append(made("bdi", cluster.terms.join(", ")));
      card.append(title, list);
      return card;
    }));
  }

  function show(state) {
    const before = now;
    now = state;
    const budget = now.budget === null ? "" : ` of ${now.budget}`;
    at("count").textContent = `${now.answered}${budget} answered`;
    at("bar").max = now.budget || now.n_rows;
    at("bar").value = now.answered;
    if (!before || before.revision !== now.revision) { showQuestion(now.question); showLast(now.last); }
    showFit(now.fit);
    enable();
  }

  function enable() {
    for (const id of BUTTONS) {
      at(id).disabled = busy || !now || (id === "undo" ? now.answered === 0 : !now.question);
    }
  }

  function complain(text) {
    at("trouble").hidden = !text;
    at("trouble").textContent = text || "";
  }

  async function request(path, body) {
    const how = { cache: "no-store", credentials: "omit", redirect: "error" };
    if (body) Object.assign(how, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    let response;
    try {
      response = await fetch(path, how);
    } catch {
      throw new Error("The program does not answer. Start it again with the same command, and open the new address: nothing is lost.");
    }
    if (response.status === 403) throw new Error("This address is of an earlier start. Open the one that the program shows now.");
    const told = await response.json();
    if (!response.ok) throw Object.assign(new Error(told.error), { stale: response.status === 409 });
    return told;
  }

  async function look() {
    clearTimeout(timer);
    try {
      show(await request("state"));
      if (!busy) complain("");
    } catch (error) {
      complain(error.message);
    }
    timer = setTimeout(look, now && now.fitting ? POLL.fitting : POLL.resting);
  }

  async function press(id) {
    if (busy || at(id).disabled) return;
    busy = true;
    enable();
    try {
      const body = id === "undo"
        ? { revision: now.revision }
        : { revision: now.revision, pair: now.question.pair, word: id };
      const state = await request(id === "undo" ? "undo" : "answer", body);
      busy = false;
      show(state);
      complain("");
      clearTimeout(timer);
      timer = setTimeout(look, POLL.fitting);
    } catch (error) {
      busy = false;
      await look();
      if (!error.stale) complain(error.message);
    }
    enable();
  }

  for (const id of BUTTONS) at(id).addEventListener("click", () => press(id));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const id = KEYS[event.key.toLowerCase()];
    if (id) { event.preventDefault(); press(id); }
  });
  const narrow = window.matchMedia("(max-width: 34rem)"); // as in the style: the terms are underlined in the text, too
  for (const fold of document.querySelectorAll(".pair details")) fold.open = !narrow.matches;
  look();
})();
