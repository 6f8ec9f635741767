// Topics over time: the chosen ones in colours, the others as ghosts; then those that change most, small.
const PINS = 12;

function viewTime(root, by, query) {
  const names = timed(by, by.names), all = shownTopics(), title = heading(by.headline.length ? sentence(by.headline) : `Topics over ${by.label}`);
  const pins = query.pins == null ? by.leaders.filter(k => !away(k)).slice(0, 6) : query.pins.split(",").filter(Boolean).map(Number).filter(k => k < facts.topics).slice(0, PINS);
  const start = pins.length ? pins : all.sort((a, b) => facts.share[b] - facts.share[a]).slice(0, 4), change = list => go(["over", by.column], {...query, pins: list.join(",") || "none"}, true);
  const many = all.length > 60, level = Math.round(100 * by.share);
  add(root, title, h("p", {class: "sub"}, sharesNote(by, `bands are ${level}% intervals`) + (many ? "" : " Grey: the other topics.") + (by.partial ? ` The last ${singularKind(by)} is not complete: ${by.partial}.` : "")),
    pinChips(start, change, query), timeFigure(by, names, start, many ? [] : all), multiples(by, names, start, change));
  return {title: `Over ${by.label}`, heading: title};
}

function pinChips(pins, change) {
  const choose = put(h("select", {"aria-label": "Add a topic", onchange: event => event.target.value && change([...pins, +event.target.value])}), {},
    [h("option", {value: ""}, "Add a topic"), ...shownTopics().filter(k => !pins.includes(k)).map(k => h("option", {value: k}, `${k} ${clipped(called(k), 40)}`))]);
  return h("div", {class: "chips", role: "group", "aria-label": "Topics that are drawn"}, pins.map((k, slot) => h("span", {class: "chip " + slotClass(slot)}, lineSample(slot), topicLink(k, "named-link"), h("span", {class: "note"}, k),
    button("×", () => change(pins.filter(one => one !== k)), {"aria-label": `Remove ${called(k)}`}))), pins.length < PINS ? choose : null);
}

function timeFigure(by, names, pins, all) {
  const series = pins.map((k, slot) => ({slot, mark: String(k), name: called(k), values: timed(by, by.shares(k)), low: timed(by, by.lows(k)), high: timed(by, by.highs(k))}));
  const ghosts = all.filter(k => !pins.includes(k)).map(k => timed(by, by.shares(k))), documents = timed(by, by.documents);
  const told = all.length ? all : pins;
  return figure({
    name: `over-${by.column}`, title: by.headline.length ? plainSentence(by.headline) : `Topics over ${by.label}`, label: `Topics over ${by.label}`,
    draw: (width, tell) => lineChart(width, {
      names, series, ghosts, height: width < 560 ? 190 : 340, counts: documents, countWord: `${cap(facts.unit[1])} per ${singularKind(by)}`, label: `Shares of ${pins.length} topics over ${by.label}`, describe: plainSentence(by.headline),
      choose: i => tell(i < 0 ? "" : `${names[i]}: ` + series.map(one => `${one.mark} ${percent(one.values[i])}${interval(one.low[i], one.high[i])}`).join("; ") + `; ${count(documents[i])} ${unit(documents[i])}`),
    }),
    table: () => ({columns: [{name: by.label}, ...told.map(k => ({name: `${k} ${called(k)}`, figure: true, show: percent})), {name: facts.unit[1], figure: true}], rows: names.map((name, i) => [name, ...told.map(k => by.shares(k)[by.timed[i]]), documents[i]])}),
  });
}

function multiples(by, names, pins, change) {
  const some = shownTopics().sort((a, b) => changeOf(by, b) - changeOf(by, a) || a - b).slice(0, 12).sort((a, b) => by.order.indexOf(a) - by.order.indexOf(b));
  const top = Math.max(...some.flatMap(k => timed(by, by.shares(k))).filter(Number.isFinite), 1e-4);
  const list = h("ul", {class: "multiples"}, some.map(k => {
    const values = timed(by, by.shares(k)), peak = largest(values), slot = pins.indexOf(k), label = peak < 0 ? "" : `${percent(values[peak])} in ${ofBin(names[peak])}`;
    return h("li", {class: slot >= 0 ? "chosen" : ""}, h("button", {type: "button", "aria-pressed": String(slot >= 0), onclick: () => change(slot >= 0 ? pins.filter(one => one !== k) : [...pins, k].slice(-PINS))},
      h("span", {class: "no"}, k), " ", h("span", {class: named(k) ? "" : "serif", dir: "auto"}, clipped(called(k), 34)), " ", h("div", {class: "at"}, label)),
    drawn(width => smallChart(width, values, top, names, slot < 0 ? null : slot, width > 150, `${called(k)}: highest, ${label}`)));
  }));
  return h("section", {class: "block"}, h("h2", {}, some.length < 12 ? "All topics" : "The twelve topics that change most"), h("p", {class: "note"}, `In the order of their time; one scale for all. Dots mark the highest ${singularKind(by)}. Choose one to draw it above.`), list);
}
