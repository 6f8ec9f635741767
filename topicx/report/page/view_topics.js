// The front page: the table that stands in the file, put in order, filtered, with names as they are now.
const PAGE = 100, ORDERS = {when: "when", share: "share", number: "number", change: "change"};

function frontOrder(by) {
  const all = [...Array(facts.topics).keys()], time = timeView();
  if (by === "when" && time) return time.order;
  if (by === "share") return all.sort((a, b) => facts.share[b] - facts.share[a] || a - b);
  if (by === "change" && time) {
    const size = k => changeOf(time, k);
    return all.sort((a, b) => size(b) - size(a) || a - b);
  }
  return all;
}

function changeOf(time, k) {
  const values = time.shares(k).filter(Number.isFinite);
  return values.length ? Math.max(...values) - Math.min(...values) : 0;
}

function viewTopics(query) {
  const view = document.getElementById("front-view"), body = document.querySelector("#front tbody"), time = timeView();
  const order = query.order in ORDERS && (time || !["when", "change"].includes(query.order)) ? query.order : time ? "when" : "share";
  const limit = Math.max(+query.rows || 0, facts.topics > 2 * PAGE ? PAGE : Infinity), filter = (query.q || "").toLowerCase(), all = frontOrder(order), rows = new Map([...body.rows].map(row => [+row.dataset.topic, row]));
  let shown = 0, fit = 0;
  for (const k of all) {
    const row = rows.get(k), match = !filter || [called(k), ...facts.top[k]].some(word => word.toLowerCase().includes(filter));
    const out = !match || (query.hidden === "no" && away(k));
    fit += !out;
    row.hidden = out || shown >= limit;
    shown += !row.hidden;
    refreshRow(row, k);
    body.append(row);
  }
  refreshHeadline(view);
  frontTools(query, order, time);
  const more = document.getElementById("front-more");
  more.replaceChildren(fit > shown ? button(`Show ${Math.min(PAGE, fit - shown)} more of ${count(fit)}`, () => go([], {...query, rows: shown + PAGE}, true), {class: "more"}) : "");
  return {title: facts.title, heading: view.querySelector("h1"), order: all};
}

// A row with the topic's name as it is now: an unnamed one begins with its words.
function refreshRow(row, k) {
  const name = row.querySelector(".name"), ring = name.querySelector(".ring"), all = facts.top[k].map(word => h("bdi", {}, word)), spaced = list => list.flatMap(word => [word, " "]);
  name.replaceChildren(h("a", {href: topicAddress(k), dir: "auto"}, called(k)), ...(named(k) ? [] : [h("span", {class: "rest"}, " ", spaced(all.slice(3)))]), ring || "", away(k) ? h("span", {class: "tag"}, "hidden") : "");
  row.querySelector("td.words")?.remove();
  name.colSpan = named(k) ? 1 : 2;
  if (named(k)) name.after(h("td", {class: "words"}, spaced(all)));
  row.classList.toggle("unnamed", !named(k));
  row.classList.toggle("away", away(k));
  row.onclick = event => { if (!event.target.closest("a") && !getSelection().toString()) location.hash = topicAddress(k); };
}

function refreshHeadline(view) {
  view.querySelectorAll("h1 a[data-topic]").forEach(link => {
    const k = +link.dataset.topic;
    link.textContent = called(k);
    link.className = "in-text " + (named(k) ? "named" : "unnamed");
  });
}

function frontTools(query, order, time) {
  const options = [["when", "when"], ["share", "share"], ["number", "number"], ["change", "change"]].filter(([key]) => time || !["when", "change"].includes(key));
  const tools = document.getElementById("front-tools"), careful = Object.keys(facts.care).length, someAway = [...Array(facts.topics).keys()].some(away);
  const columns = ["topic", "name", "share", "words", ...(time ? time.names : [])];
  const rows = () => frontOrder(order).map(k => [k, givenName(k), facts.share[k], facts.top[k].join(" "), ...(time ? time.shares(k) : [])]);
  tools.className = "chips";
  tools.replaceChildren(
    choices("Order", options, order, value => go([], {...query, order: value}, true)),
    query.q ? h("span", {class: "chip"}, `with “${query.q}”`, button("×", () => go([], {...query, q: null}, true), {"aria-label": "Remove the filter"})) : "",
    careful ? h("span", {class: "note"}, h("span", {class: "ring", "aria-hidden": "true"}), " read with care: see ", h("a", {class: "plain-link", href: "#/quality"}, "Quality")) : "",
    someAway ? button(query.hidden === "no" ? "Show hidden" : "Hide hidden", () => go([], {...query, hidden: query.hidden === "no" ? null : "no"}, true)) : "",
    h("span", {class: "push tools"}, csvButton("topics", columns, rows)));
}
