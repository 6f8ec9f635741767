// Elements of the page. Text enters by textContent alone.
const SVG = "http://www.w3.org/2000/svg";

function put(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value == null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter(one => one != null && one !== false && one !== ""));
  return element;
}

function h(tag, attributes, ...children) { return put(document.createElement(tag), attributes, children); }
function s(tag, attributes, ...children) { return put(document.createElementNS(SVG, tag), attributes, children); }

// What is drawn in a picture: those who do not see it read its title, its description and its table.
function innards(nodes) { return s("g", {"aria-hidden": "true"}, nodes.flat(6)); }

function add(element, ...children) { return put(element, {}, children); }

function button(text, act, attributes) { return h("button", {type: "button", onclick: act, ...attributes}, text); }

// Buttons of which one is chosen.
function choices(label, options, chosen, choose) {
  const all = options.map(([value, text]) => button(text, () => choose(value), {"aria-pressed": String(value === chosen)}));
  return h("div", {class: "choices", role: "group", "aria-label": label}, h("span", {class: "label", "aria-hidden": "true"}, label), all);
}

function address(path, query) {
  const text = Object.entries(query || {}).filter(([, value]) => value != null && value !== "")
    .map(([name, value]) => name + "=" + encodeURIComponent(value)).join("&");
  return "#/" + path.map(encodeURIComponent).join("/") + (text ? "?" + text : "");
}

function topicAddress(k) { return address(["topic", k]); }

// A topic's name as a link; unnamed ones are three words.
function topicLink(k, kind = "named-link", after) {
  return h("a", {class: kind + (named(k) ? " named" : " unnamed"), href: topicAddress(k), dir: "auto"}, called(k), after);
}

// A sentence: texts, numbers of topics, and words.
function sentence(parts) {
  return parts.map(part => typeof part === "number" ? topicLink(part, "in-text") : typeof part === "object" ? h("b", {dir: "auto"}, part.w) : part);
}

function wordLink(word, kind) {
  return h("a", {class: kind, href: address(["word", word]), dir: "auto", lang: textLanguage}, word);
}

function heading(...children) { return h("h1", {tabindex: "-1"}, children); }

function dataTable(caption, columns, rows, attributes) {
  const headRow = h("tr", {}, columns.map(one => h("th", {scope: "col", class: one.figure ? "figure" : null}, one.name || h("span", {class: "hidden"}, "as a bar"))));
  const body = rows.map(row => h("tr", {}, row.map((cell, i) => h(i ? "td" : "th", {scope: i ? null : "row", class: [columns[i].figure ? "figure" : "", columns[i].kind || ""].join(" ").trim() || null, dir: columns[i].figure ? null : "auto"}, shownCell(cell, columns[i])))));
  return h("table", attributes, h("caption", {class: "hidden"}, caption), h("thead", {}, headRow), h("tbody", {}, body));
}

function shownCell(cell, column) {
  if (cell instanceof Node) return cell;
  if (cell == null || Number.isNaN(cell)) return "–";
  return column.show ? column.show(cell) : String(cell);
}

// A place that draws anew when its width changes.
function drawn(draw) {
  const holder = h("div", {});
  let width = 0;
  const observer = new ResizeObserver(() => {
    const now = Math.round(holder.clientWidth);
    if (!now || now === width) return;
    width = now;
    holder.replaceChildren(draw(now));
  });
  observer.observe(holder);
  return holder;
}

function say(text) { document.getElementById("status").textContent = text; }
