// All documents: search, filters, a hundred a page.
async function viewDocuments(root, _, query) {
  const title = heading();
  add(root, title);
  if (!head.documents) {
    title.append("Documents");
    add(root, h("p", {class: "reading block"}, "The report was made of a model alone, which remembers only typical documents. ", h("code", {}, "--state"), " or ", h("code", {}, "--corpus"), " adds all of them."));
    return {title: "Documents", heading: title};
  }
  if (head.documents > 20000) title.append(`Unpacking ${count(head.documents)} ${facts.unit[1]} …`);
  const known = await readDocuments(), saying = query.q && head.blocks ? await documentsSaying(query.q.toLowerCase()) : new Set(), found = matching(known, query, saying), page = Math.max(1, +query.page || 1), k = query.topic == null ? null : +query.topic;
  title.replaceChildren(...documentsHeadline(found, known, k, query));
  add(root, h("p", {class: "sub"}, documentsNote(known, query, k)), filters(known, query), filtered(known, query));
  const part = found.slice((page - 1) * PAGE, page * PAGE);
  const quotes = await Promise.all(part.map(async d => saying.has(d) ? quoted((await documentText(d)).text, query.q) : null));
  add(root, found.length ? documentsTable(known, part, k, quotes) : h("p", {class: "reading"}, "None has all of this."));
  add(root, h("div", {class: "chips"}, page > 1 ? h("a", {class: "plain", href: address(["documents"], {...query, page: page - 1})}, "← Previous 100") : null,
    found.length > page * PAGE ? h("a", {class: "plain", href: address(["documents"], {...query, page: page + 1})}, "Next 100 →") : null,
    h("span", {class: "push tools"}, documentsCsv(known, found, k))));
  return {title: "Documents", heading: title};
}

function documentsHeadline(found, known, k, query) {
  const number = `${count(found.length)} ${unit(found.length)}`;
  if (k != null && k < facts.topics) return [`${number} with ${percent(+query.min || .1)} or more of `, topicLink(k, "in-text")];
  if (found.length < known.length) return [`${found.length ? count(found.length) : "None"} of ${count(known.length)} ${facts.unit[1]}`, query.q ? [found.length > 1 ? " say “" : " says “", h("bdi", {}, clipped(query.q, 60)), "”"] : ""].flat();
  let leading = new Map();
  for (let d = 0; d < known.length; d++) if (known.starts[d + 1] > known.starts[d]) leading.set(known.topics[known.starts[d]], (leading.get(known.topics[known.starts[d]]) || 0) + 1);
  const [best, second] = [...leading].sort((a, b) => b[1] - a[1] || a[0] - b[0]);
  return best && best[1] > (second?.[1] ?? 1) ? [topicLink(best[0], "in-text"), ` is the largest topic of more ${facts.unit[1]} than any other: ${count(best[1])} of ${count(known.length)}`] : [number];
}

function documentsNote(known, query, k) {
  const kept = facts.sizes.documents > known.length ? ` Of ${count(facts.sizes.documents)} a sample is here.` : "";
  return (k != null ? "Those with the largest share come first." : "In the order of the corpus.") + kept;
}

function matching(known, query, saying) {
  const k = query.topic == null ? null : +query.topic, least = +query.min || .1, text = (query.q || "").toLowerCase();
  const wanted = known.columns.filter(column => query["c." + column.name] != null).map(column => [column, query["c." + column.name]]);
  const spans = facts.by.map((by, i) => [known.spans[i], by.raw.indexOf(query["s." + by.column] ?? "\0")]).filter(([codes, at]) => codes && at >= 0);
  const found = [];
  for (const d of k == null ? Array(known.length).keys() : withTopic(known, k, least)) {
    if (spans.some(([codes, at]) => codes[d] !== at)) continue;
    if (wanted.some(([column, value]) => column.at(d) !== value && !column.at(d).split(", ").includes(value))) continue;
    if (text && !saying.has(d) && !known.title(d).toLowerCase().includes(text) && !known.ids.at(d).toLowerCase().includes(text)) continue;
    found.push(d);
  }
  return found;
}

// Documents with so much of a topic, the largest shares first. Shares are rounded here: of a tenth and of a half it is
// known how many documents have as much.
function withTopic(known, k, least) {
  const shares = new Map(), enough = Math.floor(255 * Math.sqrt(least));
  for (let d = 0; d < known.length; d++)
    for (let i = known.starts[d]; i < known.starts[d + 1]; i++) if (known.topics[i] === k && known.shares[i] >= enough) shares.set(d, known.shares[i]);
  const found = [...shares.keys()].sort((a, b) => shares.get(b) - shares.get(a) || a - b), whole = known.length === facts.sizes.documents;
  const exact = whole && least === .1 ? facts.tenth[k] : whole && least === .5 ? facts.half[k] : null;
  return exact != null ? found.slice(0, exact) : found.filter(d => shares.get(d) >= 255 * Math.sqrt(least) - .5);
}

function filters(known, query) {
  const change = more => go(["documents"], {...query, page: null, ...more}, true);
  const pick = (label, options, value, act) => h("label", {}, label, put(h("select", {onchange: event => act(event.target.value || null)}), {}, options.map(([key, text]) => h("option", {value: key, selected: key === (value ?? "")}, text))));
  const search = h("input", {type: "search", value: query.q || "", onchange: event => change({q: event.target.value || null})});
  const topics = [["", "any topic"], ...shownTopics().map(k => [String(k), `${k} ${clipped(called(k), 40)}`])];
  const columns = known.columns.filter(column => column.kind === "names" && column.values.length > 1 && column.values.length <= 60);
  return h("form", {class: "filters", onsubmit: event => event.preventDefault(), "aria-label": "Filters"}, h("label", {}, head.blocks ? "In titles, names and texts" : "In titles and names", search),
    pick("Topic", topics, query.topic, value => change({topic: value, min: value ? query.min || .1 : null})),
    query.topic == null ? null : pick("At least", [["0.02", "2%"], ["0.1", "10%"], ["0.2", "20%"], ["0.5", "50%"]], String(query.min || .1), value => change({min: value})),
    columns.map(column => pick(column.name, [["", "any"], ...column.values.filter(Boolean).map(value => [value, clipped(value, 40)])], query["c." + column.name], value => change({["c." + column.name]: value}))));
}

function filtered(known, query) {
  const said = [];
  facts.by.forEach(by => { const at = by.raw.indexOf(query["s." + by.column] ?? "\0"); if (at >= 0) said.push([`${by.label}: ${by.names[at]}`, "s." + by.column]); });
  return said.length ? h("p", {class: "filtered"}, said.map(([text, key]) => h("span", {class: "chip"}, text, button("×", () => go(["documents"], {...query, [key]: null, page: null}, true), {"aria-label": `Remove ${text}`})))) : null;
}

// The place of a text where something stands, with what is around it.
function quoted(text, wanted) {
  const at = text.toLowerCase().indexOf(wanted.toLowerCase()), begin = Math.max(0, at - 60), end = at + wanted.length;
  return h("p", {class: "quoted", dir: "auto", lang: textLanguage}, begin ? "…" : "", text.slice(begin, at), h("mark", {}, text.slice(at, end)), text.slice(end, end + 90), end + 90 < text.length ? "…" : "");
}

function documentsTable(known, part, k, quotes) {
  const columns = [{name: known.titles ? "Title" : "Name"}, ...known.columns.slice(0, 3).map(column => ({name: column.name})), {name: k == null ? "Largest topics" : "Other topics", kind: "topics-cell"}, ...(k == null ? [] : [{name: "Share", figure: true}]), ...(facts.counted ? [{name: "Words", figure: true, kind: "words-cell", show: count}] : [])];
  const rows = part.map((d, place) => {
    const topics = documentTopics(known, d), own = topics.find(([j]) => j === k);
    return [h("div", {}, h("a", {href: address(["document", known.ids.at(d)]), dir: "auto"}, clipped(known.title(d), 90)), quotes[place]), ...known.columns.slice(0, 3).map(column => clipped(column.at(d), 40)),
      h("span", {}, topics.filter(([j]) => j !== k).slice(0, 3).map(([j, share], i) => [i ? ", " : "", topicLink(j), ` ${percent(share)}`])), ...(k == null ? [] : [percent(own?.[1] ?? 0)]), ...(facts.counted ? [known.lengths[d]] : [])];
  });
  return h("div", {class: "wide"}, dataTable("Documents", columns, rows, {class: "lists documents"}));
}

function documentsCsv(known, found, k) {
  const names = ["id", "title", ...known.columns.map(column => column.name), "words", "topics"];
  return csvButton("documents", names, () => found.map(d => [known.ids.at(d), known.title(d), ...known.columns.map(column => column.at(d)), known.lengths[d], documentTopics(known, d).map(([j, share]) => `${j}:${share.toFixed(3)}`).join(" ")]));
}
