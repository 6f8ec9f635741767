// One topic: how it goes, its words, where it is purest, what to make of it, what is near.
const LAMBDAS = [["1", "frequent"], ["0.6", "mixed"], ["0.2", "typical"]];

async function viewTopic(root, [number], query) {
  const k = +number;
  if (!(Number.isInteger(k) && k >= 0 && k < facts.topics)) return viewMissing(root, `There is no topic ${number}; there are 0 to ${facts.topics - 1}.`);
  const ratio = Math.min(Math.max(query.l == null ? .6 : +query.l || 0, 0), 1), title = heading(h("span", {class: "no"}, k), " ", h("span", {dir: "auto"}, called(k)));
  title.classList.add("name");
  if (!named(k)) title.classList.add("unnamed");
  const time = timeView(), place = facts.share.filter(value => value > facts.share[k]).length + 1, said = topicHeadline(k);
  const passages = h("section", {}, h("h2", {}, "Where it is purest"));
  const page = h("div", {},
    h("div", {class: "top-row"}, title, turns(k)),
    said ? h("p", {class: "lead"}, said + ".") : null,
    h("p", {class: "meta"},
      h("span", {}, h("b", {}, percent(facts.share[k])), ` of ${facts.share_of}, ${ordinal(place)} of ${facts.topics}`), " ",
      facts.half ? h("span", {}, "at least half of ", h("b", {}, count(facts.half[k])), ` ${unit(facts.half[k])}, a tenth of `, h("b", {}, count(facts.tenth[k]))) : null, " ",
      careOf(k).length ? h("span", {}, h("span", {class: "ring", "aria-hidden": "true"}), " Read with care: ", careOf(k).map((one, i) => [i ? "; " : "", sentence(one)])) : null,
      h("span", {}, editTools(k))),
    noted(k) ? h("p", {class: "note-text", dir: "auto"}, noted(k)) : null,
    time && time.timed.length > 1 ? h("section", {class: "block"}, trendFigure(time, k)) : null,
    h("div", {class: "two"},
      h("section", {}, wordsOf(k, ratio, query), makingOf(k), phrasesOf(k)),
      passages),
    h("div", {class: "two even"}, relations("Says similar things", "Overlap of the two topics’ words, 0 to 1.", facts.near[k].map(([j, value]) => [j, value.toFixed(2)])),
      facts.beside ? relations("Stands beside", `In one ${unit(1)} with this topic more often than by chance.`, facts.beside[k].map(([j, times, n]) => [j, `${times.toFixed(1)} × · ${count(n)} ${unit(n)}`])) : null),
    facts.by.map((by, i) => by.ordered ? null : groupsOf(by, i, k)),
    facts.tables.map(table => modelTable(table, k)), effectsOf(k));
  add(root, railed(k, page));
  await fillPassages(passages, k, ratio);
  return {title: `${k} ${called(k)}`, heading: title};
}

function ordinal(n) {
  const ending = n % 100 > 10 && n % 100 < 14 ? "th" : ["th", "st", "nd", "rd"][n % 10] || "th";
  return n + ending;
}

function topicHeadline(k) { return facts.sentences[k]; }

// Previous and next in the order of the list that one came from.
function turns(k) {
  const order = listOrder(), at = order.indexOf(k), before = order[at - 1], after = order[at + 1];
  return h("nav", {class: "turn", "aria-label": "Other topics"},
    before == null ? null : h("a", {href: topicAddress(before)}, "← " + before, h("span", {class: "hidden"}, ` ${called(before)}, the topic before`)),
    after == null ? null : h("a", {href: topicAddress(after)}, after + " →", h("span", {class: "hidden"}, ` ${called(after)}, the next topic`)));
}

function listOrder() { return lastOrder || frontOrder(timeView() ? "when" : "share"); }

function railed(current, page) {
  const order = [...Array(facts.topics).keys()].filter(k => !away(k));
  const rail = h("nav", {class: "rail", "aria-label": "All topics"}, h("h2", {}, `${order.length} topics`), order.map(k =>
    h("a", {href: topicAddress(k), "aria-current": k === current ? "page" : null}, h("span", {class: "no"}, k), h("span", {dir: "auto", class: named(k) ? "" : "serif"}, called(k)), h("span", {class: "part"}, (100 * facts.share[k]).toFixed(1) + "%"))));
  requestAnimationFrame(() => { const here = rail.querySelector("[aria-current]"); if (here) rail.scrollTop = here.offsetTop - rail.offsetTop - 200; });
  return h("div", {class: "railed"}, rail, page);
}

function timed(by, values) { return by.timed.map(g => values[g]); }

function trendFigure(by, k) {
  const names = timed(by, by.names), series = {values: timed(by, by.shares(k)), low: timed(by, by.lows(k)), high: timed(by, by.highs(k)), partial: by.partial};
  const counts = timed(by, facts.counted ? by.tokens : by.documents), documents = timed(by, by.documents), level = Math.round(100 * by.share);
  const columns = [{name: by.label}, {name: "share", figure: true, show: percent}, {name: "low", figure: true, show: percent}, {name: "high", figure: true, show: percent}, {name: facts.unit[1], figure: true, show: count}, ...(facts.counted ? [{name: "words", figure: true, show: count}] : [])];
  return figure({
    name: `topic-${k}-${by.column}`, title: `${k} ${called(k)}: mean share by ${by.label}`,
    draw: (width, tell) => lineChart(width, {
      names, series: [series], counts, countWord: `${facts.counted ? "Words counted" : cap(facts.unit[1])} per ${singularKind(by)}`, label: `Share of topic ${k}, ${called(k)}, over ${by.label}`, describe: topicHeadline(k),
      choose: i => tell(i < 0 ? "" : `${names[i]}: ${percent(series.values[i])}${interval(series.low[i], series.high[i])}, ${count(documents[i])} ${unit(documents[i])}` + (facts.counted ? `, ${count(counts[i])} words` : "")),
    }),
    table: () => ({columns, rows: names.map((name, i) => [name, series.values[i], series.low[i], series.high[i], documents[i], ...(facts.counted ? [counts[i]] : [])])}),
    note: (by.way === "predicted" ? "What the regression predicts; the band is its interval." : `Mean share of the ${singularKind(by)}’s ${facts.unit[1]}; the band is a ${level}% interval.`) + (by.partial ? ` The last ${singularKind(by)} is not complete: ${by.partial}.` : ""),
    extra: h("a", {href: address(["documents"], {topic: k, min: .1})}, `${facts.unit[1]} of it`),
  });
}

function singularKind(by) { return by.kind === "centuries" ? "century" : by.kind.replace(/s$/, ""); }

function wordsOf(k, ratio, query) {
  const slider = h("input", {type: "range", min: 0, max: 1, step: .1, value: ratio, "aria-valuetext": ratio.toFixed(1), "aria-label": "λ: 1 the most frequent words, 0 those that occur nowhere else"});
  const shownRatio = h("span", {}, "λ " + ratio.toFixed(1)), holder = h("div", {});
  const fill = value => {
    shownRatio.textContent = "λ " + value.toFixed(1);
    slider.setAttribute("aria-valuetext", value.toFixed(1));
    holder.replaceChildren(wordBars(topicWords(k, value)));
  };
  slider.addEventListener("input", () => fill(+slider.value));
  slider.addEventListener("change", () => go(["topic", k], {...query, l: slider.value}, true));
  fill(ratio);
  const pick = choices("Words", LAMBDAS, String(ratio), value => go(["topic", k], {...query, l: value}, true));
  pick.firstChild.remove();
  pick.append(slider, shownRatio);
  const rows = () => topicWords(k, ratio, 1000).map(one => [words.names.at(one.word), one.here, one.all, one.here / one.all]);
  return [h("h2", {}, "Its words"), h("p", {class: "note"}, "Dark: in this topic. Light: elsewhere. %: how much of it is here."), pick, holder, h("div", {class: "tools"}, csvButton(`topic-${k}-words`, ["word", "here", "everywhere", "part"], rows))];
}

function wordBars(found) {
  if (!found.length) return h("p", {class: "note"}, "No word is in this topic.");
  const end = 1.9 * Math.max(...found.map(one => one.here)), cut = found.some(one => one.all > end);
  const rows = found.map(({word, here, all}) => {
    const inside = 100 * here / end, whole = Math.min(100 * all / end, 100);
    const bar = s("svg", {viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false"},
      s("rect", {class: "bar-out", x: 0, width: whole, height: 10}), s("rect", {class: "bar-in", x: 0, width: inside, height: 10}),
      all > end ? [95.6, 97.4].map(at => s("path", {class: "cut", d: `M${at} 10L${at + .9} 0`})) : []);
    return h("tr", {}, h("th", {scope: "row"}, wordLink(words.names.at(word))), h("td", {}, bar, h("span", {class: "hidden"}, `${count(here)} uses here, ${count(all)} in all`)), h("td", {}, percent(here / all)));
  });
  return [h("table", {class: "word-bars"}, h("caption", {class: "hidden"}, "Words of the topic, their uses here and elsewhere"), h("thead", {class: "hidden"}, h("tr", {}, ["Word", "Uses", "Part of its uses that is here"].map(name => h("th", {scope: "col"}, name)))), h("tbody", {}, rows)),
    h("p", {class: "note"}, `Longest dark bar: ${count(Math.max(...found.map(one => one.here)))} uses.` + (cut ? " A cut bar goes on to the right." : ""))].reduce((holder, one) => (holder.append(one), holder), h("div", {}));
}

function makingOf(k) {
  return facts.making[k].length ? h("div", {class: "block"}, h("h2", {}, "What to make of it"), facts.making[k].map(one => h("p", {class: "reading"}, one))) : null;
}

function phrasesOf(k) {
  const found = facts.phrases?.[k] || [];
  return found.length ? h("div", {class: "block"}, h("h2", {}, "Phrases"), h("p", {class: "note"}, "Two counted words side by side, both of this topic, more often than by chance." + (facts.phrases_every > 1 ? ` Counted in every ${ordinal(facts.phrases_every)} ${facts.unit[0]}.` : "")),
    h("p", {class: "reading"}, found.map(([text, n], i) => [i ? ", " : "", h("bdi", {}, text), h("span", {class: "note"}, " " + count(n))]))) : null;
}

function relations(title, note, rows) {
  return h("section", {}, h("h2", {}, title), h("p", {class: "note"}, note), rows.length ? h("table", {class: "relation lists"}, h("caption", {class: "hidden"}, title), h("tbody", {}, rows.map(([j, told]) =>
    h("tr", {}, h("td", {class: "number"}, j), h("th", {scope: "row"}, topicLink(j)), h("td", {class: "figure"}, told))))) : h("p", {class: "note"}, "None."));
}

function groupsOf(by, i, k) {
  const rows = by.names.map((name, g) => [name, by.mean[g * facts.topics + k], by.low[g * facts.topics + k], by.high[g * facts.topics + k], by.documents[g], g]).filter(row => Number.isFinite(row[1])).sort((a, b) => b[1] - a[1]);
  if (rows.length < 2) return null;
  const most = Math.max(...rows.map(row => row[3] || row[1]));
  const bars = rows.map(row => [row[0], s("svg", {class: "bar", width: 160, height: 8, "aria-hidden": "true", focusable: "false"}, s("rect", {width: Math.max(160 * row[1] / most, .5), height: 8})), percent(row[1]) + interval(row[2], row[3]), count(row[4])]);
  return h("section", {class: "block"}, h("h2", {}, `By ${by.label}`), h("p", {class: "note"}, by.way === "predicted" ? "What the regression predicts, and its intervals. " : `Mean share of the ${facts.unit[1]} of each; ${Math.round(100 * by.share)}% intervals. `, h("a", {class: "plain", href: address(["over", by.column])}, "All topics")),
    h("div", {class: "wide"}, dataTable(`Share by ${by.label}`, [{name: by.label}, {name: ""}, {name: "share", figure: true}, {name: facts.unit[1], figure: true}], bars, {class: "relation lists"})));
}

// What this kind of model knows of the topic beside its words.
function modelTable({title, note, columns, rows}, k) {
  if (!rows[k].length) return null;
  const shown = columns.map((name, i) => ({name, figure: typeof rows[k][0][i] === "number", show: value => typeof value === "number" ? signed(value, 3) : value}));
  return h("section", {class: "block"}, h("h2", {}, title), h("p", {class: "note"}, note), h("div", {class: "wide"}, dataTable(title, shown, rows[k], {class: "relation lists"})));
}

function effectsOf(k) {
  const rows = facts.effects.filter(row => row.topic === k);
  if (!rows.length) return null;
  return h("section", {class: "block"}, h("h2", {}, "Effects"), h("p", {class: "note"}, "Coefficients of the regression that was given with the report, and their intervals."),
    h("div", {class: "wide"}, effectsTable(rows)));
}

function effectsTable(rows) {
  const number = value => signed(value, 4), columns = [{name: "term"}, {name: "estimate", figure: true, show: number}, {name: "interval", figure: true}, {name: "p", figure: true, show: value => value < .001 ? "<0.001" : value.toFixed(3)}];
  return dataTable("Effects", columns, rows.map(row => [row.term, row.estimate, `${number(row.conf_low)} to ${number(row.conf_high)}`, row.p_adjusted ?? row.p_value]), {class: "relation lists"});
}

// Typical documents: title, what they carry, the passage that says most of the topic, its words underlined.
async function fillPassages(holder, k, ratio) {
  const typical = typicalOf(k), best = new Set(topicWords(k, .6, 40).map(one => words.names.at(one.word)));
  if (!typical.length) {
    holder.append(h("p", {class: "note"}, "The model remembers no typical documents."));
    return;
  }
  const known = head.documents ? await readDocuments() : null, texts = core.has("passages.bytes") ? core.strings("passages") : null;
  const rows = [];
  for (const one of typical) rows.push(await passage(one, known, texts, best));
  const some = texts || head.blocks || typical.some(one => one.text);
  const list = h("ol", {class: "passages"}, rows), note = `${cap(facts.unit[1])} with the largest share of this topic` + (some ? "; its words underlined." : ".");
  [...list.children].slice(5).forEach(row => { row.hidden = true; });
  holder.append(h("p", {class: "note"}, note), list);
  const left = rows.length - 5;
  if (left > 0) holder.append(button(`Show ${left} more`, event => { [...list.children].forEach(row => { row.hidden = false; }); event.target.remove(); list.children[5].querySelector("a")?.focus(); }, {class: "more"}));
  if (known) holder.append(h("p", {class: "tools"}, h("a", {href: address(["documents"], {topic: k, min: .1})}, `All ${count(facts.tenth[k])} ${unit(facts.tenth[k])} with a tenth or more →`)));
}

function cap(text) { return text.charAt(0).toUpperCase() + text.slice(1); }

function typicalOf(k) {
  if (!core.has("typical.counts")) return [];
  const starts = core.typicalStarts ??= sums(core.array("typical.counts")), shares = core.array("typical.shares"), found = [];
  for (let i = starts[k]; i < starts[k + 1]; i++) {
    const one = {share: (shares[i] / 255) ** 2, place: i};
    if (core.has("typical.documents")) one.document = core.array("typical.documents")[i];
    else {
      one.id = core.strings("examples.ids").at(i);
      one.text = core.has("examples.texts.bytes") ? core.strings("examples.texts").at(i) : "";
      one.carried = core.has("examples.columns.bytes") ? JSON.parse(core.strings("examples.columns").at(i) || "{}") : {};
    }
    found.push(one);
  }
  return found;
}

async function passage(one, known, texts, best) {
  let title = one.id, id = "", carried = Object.entries(one.carried || {}).map(([, value]) => String(value)), text = one.text || "", href = null;
  if (known) {
    id = known.ids.at(one.document);
    title = known.title(one.document);
    carried = known.columns.map(column => column.at(one.document)).filter(Boolean);
    href = address(["document", id]);
    if (texts) text = texts.at(one.place);
  }
  if (id === title) id = "";
  carried = carried.filter(value => !title.includes(value));
  const bar = s("svg", {width: 52, height: 3, "aria-hidden": "true", focusable: "false"}, s("rect", {class: "bar-in", x: 52 * (1 - one.share), width: 52 * one.share, height: 3}));
  return h("li", {}, h("div", {class: "head"}, href ? h("a", {href, dir: "auto"}, h("b", {}, title)) : h("b", {dir: "auto"}, title), [...carried, id].filter(Boolean).map(value => [" · ", h("bdi", {}, clipped(value, 60))])),
    h("div", {class: "part"}, percent(one.share), bar), text ? h("p", {dir: "auto", lang: textLanguage}, underlined(text, best)) : null);
}

function underlined(text, best) {
  return text.split(/([\p{L}\p{M}\p{N}'’]+)/u).map((piece, i) => i % 2 && best.has(piece.toLowerCase()) ? h("u", {}, piece) : piece);
}
