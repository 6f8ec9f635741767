// Letter keys act outside of fields alone, and can be switched off.
let letters = true;
const KEYS = [["/", "find topics, words, texts"], ["j  k", "next, previous row or topic"], ["Enter", "open"], ["Escape", "close, or go up"], ["p", "pin the topic: draw it over time"], ["h", "hide or show the topic"], ["n", "name the topic"], ["t  o  f  q", "topics, over time, families, quality"], ["?", "this table"]];

function keyTable() {
  return h("table", {class: "said lists"}, h("caption", {class: "hidden"}, "Keys"), h("tbody", {}, KEYS.map(([key, does]) => h("tr", {}, h("th", {scope: "row"}, key.split("  ").map((one, i) => [i ? " " : "", h("kbd", {}, one)])), h("td", {}, does)))));
}

function letterSwitch() {
  return h("p", {class: "more"}, h("label", {}, h("input", {type: "checkbox", checked: letters, onchange: event => { letters = event.target.checked; }, class: "check"}), " Letter keys act"));
}

function showKeys() {
  const dialog = h("dialog", {"aria-label": "Keys", onclose: () => dialog.remove()}, h("h2", {}, "Keys"), keyTable(), button("Close", () => dialog.close()));
  document.body.append(dialog);
  dialog.showModal();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || document.querySelector("dialog[open]")) return;
  const act = keyActions[event.key];
  if (!act || (!letters && event.key.length === 1)) return;
  if (act() !== false) event.preventDefault();
}

const keyActions = {
  "/": () => { document.querySelector("#find input").focus(); },
  "?": showKeys,
  j: () => step(1), k: () => step(-1), ArrowDown: () => lastView === "" && step(1), ArrowUp: () => lastView === "" && step(-1),
  t: () => go([]), f: () => go(["families"]), q: () => go(["quality"]),
  o: () => { const time = timeView(); return time ? go(["over", time.column]) : false; },
  p: () => onTopic(k => { const time = timeView(); if (time) go(["over", time.column], {pins: [...new Set([...time.leaders, k])].join(",")}); }),
  h: () => onTopic(k => change("hidden", k, !away(k))), n: () => onTopic(renameField),
  Escape: () => (lastView === "topic" ? go([]) : lastView === "document" ? history.back() : false),
};

function onTopic(act) {
  if (lastView !== "topic") return false;
  act(+parse().path[1]);
  return true;
}

// The next or previous row of the front page, or topic of the list that one came from.
function step(by) {
  if (lastView === "topic") {
    const order = listOrder(), next = order[order.indexOf(+parse().path[1]) + by];
    if (next != null) location.hash = topicAddress(next);
    return true;
  }
  const links = [...document.querySelectorAll(lastView === "" ? "#front tbody tr:not([hidden]) .name a" : "#view table tbody a, #view .passages a, #view .family a")];
  if (!links.length) return false;
  const at = links.indexOf(document.activeElement);
  links[Math.max(0, Math.min(links.length - 1, at + by))].focus();
  return true;
}
