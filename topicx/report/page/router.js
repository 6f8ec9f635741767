// Every view has an address; going back finds it as it was.
const VIEWS = {topic: viewTopic, documents: viewDocuments, document: viewDocument, word: viewWord, over: viewOver, families: viewFamilies, quality: viewQuality, about: viewAbout};
let lastView = null, lastOrder = null, rendering = 0, keepFocus = false;
const scrolled = new Map();

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?"), found = {};
  for (const pair of (query || "").split("&").filter(Boolean)) {
    const [name, value] = pair.split("=");
    found[decoded(name)] = decoded(value || "");
  }
  return {path: path.split("/").filter(Boolean).map(decoded), query: found};
}

function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

// A step within a view changes the address but makes no entry in the history.
function go(path, query, within) {
  const to = address(path, query);
  if (!within) { location.hash = to; return; }
  keepFocus = true;
  history.replaceState(null, "", to);
  render();
}

async function render() {
  const {path, query} = parse(), name = path[0] || "", mine = ++rendering, front = document.getElementById("front-view"), holder = document.getElementById("view"), within = keepFocus;
  keepFocus = false;
  const focused = within ? focusPlace() : null, place = within ? scrollY : scrolled.get(location.hash) || 0;
  front.hidden = Boolean(name);
  holder.hidden = !name;
  const root = h("div", {});
  let found;
  try {
    if (name) holder.replaceChildren(root);
    found = name ? await (VIEWS[name] ? VIEWS[name](root, path.slice(1), query) : viewMissing(root, "There is no such view.")) : viewTopics(query);
  } catch (problem) {
    console.error(problem);
    root.replaceChildren(heading("This view failed"), h("p", {class: "reading block"}, String(problem)));
    found = {title: "This view failed", heading: root.firstChild};
  }
  if (mine !== rendering) return;
  if (found.order) lastOrder = found.order;
  lastView = name;
  document.title = found.title === facts.title ? facts.title : `${found.title} · ${facts.title}`;
  document.body.dataset.foot = `${document.title} · model ${facts.digest.slice(0, 12)}`;
  markViews(path);
  if (within) restoreFocus(focused);
  else if (started) found.heading?.focus({preventScroll: true});
  scrollTo(0, place);
  started = true;
}
let started = false;

// Where the focus was, to find it again after the view was drawn anew.
function focusPlace() {
  const all = focusable(), at = all.indexOf(document.activeElement);
  return at < 0 ? null : {at, text: document.activeElement.textContent, label: document.activeElement.getAttribute("aria-label")};
}

function focusable() { return [...document.querySelectorAll("main a[href], main button, main input, main select")].filter(one => one.offsetParent); }

function restoreFocus(place) {
  if (!place) return;
  const all = focusable(), same = all.find(one => one.textContent === place.text && one.getAttribute("aria-label") === place.label && one.tagName === "BUTTON");
  (same || all[place.at])?.focus({preventScroll: true});
}

function viewLinks() {
  const links = [["Topics", []]];
  for (const by of facts.by) links.push([by.ordered ? (by.column === "time" ? "Over time" : `Over ${by.label}`) : `By ${by.label}`, ["over", by.column]]);
  if (head.documents) links.push(["Documents", ["documents"]]);
  return [...links, ["Families", ["families"]], ["Quality", ["quality"]], ["About", ["about"]]];
}

function markViews(path) {
  const name = path[0] || "", nav = document.getElementById("views");
  nav.replaceChildren(...viewLinks().map(([text, to]) => {
    const here = name === (to[0] || "") && (name !== "over" || path[1] === to[1]) || (name === "topic" && !to.length) || (name === "word" && !to.length) || (name === "document" && to[0] === "documents");
    return h("a", {href: address(to), "aria-current": here ? (["topic", "document", "word"].includes(name) ? "true" : "page") : null}, text);
  }));
  const here = nav.querySelector("[aria-current]");
  if (here) nav.scrollLeft = Math.max(0, here.offsetLeft - nav.offsetLeft - 80);
}

async function begin() {
  try {
    await readCore();
  } catch (problem) {
    document.getElementById("foot").append(h("p", {class: "note"}, "The data could not be unpacked: this browser is too old, or the file is not whole. The table of topics is all that it shows."));
    console.error(problem);
    return;
  }
  history.scrollRestoration = "manual";
  makeFind();
  addEventListener("hashchange", render);
  addEventListener("scroll", () => scrolled.set(location.hash, scrollY), {passive: true});
  addEventListener("keydown", onKey);
  addEventListener("beforeprint", () => document.querySelectorAll(".figure-table").forEach(one => one.fill()));
  document.querySelector(".skip").addEventListener("click", event => { event.preventDefault(); document.getElementById("content").focus(); });
  await render();
  document.documentElement.dataset.ready = "yes";
}

begin();
