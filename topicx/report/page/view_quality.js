// Quality: of each topic, so no average is given.
function viewQuality(root) {
  const title = heading(facts.quality.sentence), careful = Object.keys(facts.care).map(Number).filter(k => !away(k));
  add(root, title, h("p", {class: "sub"}, "Quality belongs to each topic, so no average is given."),
    h("div", {class: "quality-grid"}, h("section", {}, scatterSection()), h("div", {}, traceSection(), recurrenceSection(), searchSection())),
    careful.length ? h("section", {class: "block"}, h("h2", {}, "Read with care"), h("table", {class: "relation lists"}, h("caption", {class: "hidden"}, "Topics to read with care"), h("tbody", {}, careful.map(k => h("tr", {}, h("td", {class: "number"}, k), h("th", {scope: "row"}, topicLink(k)), h("td", {}, careOf(k).map((one, i) => [i ? "; " : "", sentence(one)]))))))) : h("p", {class: "reading block"}, "No topic stands out as one to read with care."));
  return {title: "Quality", heading: title};
}

function scatterSection() {
  const {coherence, exclusivity, words: effective} = facts.quality, known = coherence.length > 0, level = known ? coherence : effective;
  const points = shownTopics().map(k => ({topic: k, name: called(k), x: exclusivity[k], y: level[k], size: facts.share[k], care: careOf(k).length > 0})).filter(point => point.x != null && point.y != null);
  const columns = [{name: "topic"}, {name: "name"}, {name: "exclusivity", figure: true}, ...(known ? [{name: "coherence", figure: true}] : []), {name: "effective words", figure: true}, {name: "share", figure: true}];
  const title = known ? "Do its words go together, and are they its own?" : "Are its words its own, and how many are there?";
  const note = (known ? `Up: words found in the same ${facts.unit[1]} (coherence). ` : "Up: the number of words it draws on. ") + "Right: words of this topic alone (exclusivity). Area: share. Rings: read with care." + (facts.quality.every > 1 ? ` From every ${ordinal(facts.quality.every)} ${facts.unit[0]}.` : "");
  return [h("h2", {}, title), h("p", {class: "note"}, note), figure({
    name: "quality", title, draw: width => points.length > 1 ? scatterChart(width, {points, ends: ["shared words", "words of its own"], label: title, describe: note, digits: [1, 0]}) : h("p", {}, "One topic has nothing to be compared with."),
    table: () => ({columns, rows: points.map(({topic: k}) => [String(k), called(k), exclusivity[k].toFixed(3), ...(known ? [signed(coherence[k], 1)] : []), effective[k].toFixed(0), percent(facts.share[k])])}),
  })];
}

function traceSection() {
  const {trace: [sweeps, scores], settled} = facts.quality, kept = scores.map((value, i) => [sweeps[i], value]).filter(([, value]) => value != null);
  if (kept.length < 2) return h("section", {}, h("h2", {}, "Has the chain settled?"), h("p", {class: "note"}, "Not known: the model has no trace."));
  const way = settled.change > 0 ? "rose" : "fell", told = settled.known ? `It ${way} by ${Math.abs(settled.change).toPrecision(2)} in the last ${count(settled.sweeps)} of ${count(settled.of)} sweeps` + (settled.settled ? ", less than it scatters." : settled.change > 0 ? ": more sweeps would help." : ".") : "The trace is too short to tell.";
  return h("section", {}, h("h2", {}, "Has the chain settled?"), h("p", {class: "note"}, "Log-likelihood a word, by sweep. " + told), figure({
    name: "trace", title: "Log-likelihood a word, by sweep", draw: width => traceChart(width, kept.map(one => one[0]), kept.map(one => one[1]), "Log-likelihood a word, by sweep. " + told),
    table: () => ({columns: [{name: "sweep"}, {name: "score", figure: true}], rows: kept.map(([sweep, score]) => [String(sweep), signed(score, 4)])}),
  }));
}

// Topics in other runs: a dot each, by how far its words overlap with the topic most like it there.
function recurrenceSection() {
  const again = facts.quality.again, title = "Does another run find the same topics?";
  if (!again) {
    const told = facts.quality.searched || "Not known: the report was made of one run. topicx report --again FILE shows another beside it.";
    return h("section", {class: "block"}, h("h2", {}, title), h("p", {class: "note"}, told));
  }
  const points = shownTopics().map(k => ({topic: k, value: again.overlap[k], steady: again.times[k] === again.runs}));
  const note = `Each dot is a topic, by the overlap of its words with the topic most like it in ${again.runs === 1 ? "another run" : `${again.runs} other runs, on average`} (1: the same words). Rings do not come again${again.runs > 1 ? " in every run" : ""}.`;
  const columns = [{name: "topic"}, {name: "name"}, {name: "overlap", figure: true}, ...(again.runs > 1 ? [{name: `runs, of ${again.runs}`, figure: true}] : [{name: "comes again"}])];
  return h("section", {class: "block"}, h("h2", {}, title), h("p", {class: "note"}, `${cap(again.sentence)}. ${note} ${facts.quality.searched}`), figure({
    name: "runs", title: cap(again.sentence), draw: width => dotRow(width, points, note),
    table: () => ({columns, rows: [...points].sort((a, b) => a.value - b.value).map(({topic: k, value, steady}) => [String(k), called(k), value.toFixed(2), again.runs > 1 ? String(again.times[k]) : steady ? "yes" : "no"])}),
  }));
}

function searchSection() {
  if (!facts.search.length) return null;
  const names = Object.keys(facts.search[0]), rows = facts.search.map(row => names.map(name => typeof row[name] === "number" ? +row[name].toPrecision(4) : row[name]));
  return h("section", {class: "block"}, h("h2", {}, "How many topics?"), h("p", {class: "note"}, "What the search for a number of topics measured, a row a run."), h("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "Search for a number of topics"}, dataTable("Search", names.map((name, i) => ({name, figure: i > 0})), rows, {class: "lists"})));
}
