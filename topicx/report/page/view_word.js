// One word: its topics, its uses over time, words that are used alike.
function viewWord(root, [text]) {
  const at = words.names.find(text);
  if (at < 0) return viewMissing(root, `“${text}” is not among the ${count(words.names.length)} words of this report` + (facts.sizes.left_out ? `; ${count(facts.sizes.left_out)} rarer words were left out.` : "."));
  const topics = wordTopics(at), uses = words.uses[at], title = heading(wordHeadline(text, topics)), most = topics[0]?.[1] || 1;
  const rows = topics.map(([k, part]) => [String(k), topicLink(k), s("svg", {class: "bar", width: 160, height: 8, "aria-hidden": "true", focusable: "false"}, s("rect", {width: 160 * part / most, height: 8})), percent(part), part * uses]);
  const columns = [{name: "No."}, {name: "Topic"}, {name: ""}, {name: "Part of its uses", figure: true}, {name: "Uses", figure: true, show: count}];
  add(root, title, h("p", {class: "sub"}, `${count(uses)} uses counted. Topics with less than 1% of them are not listed.`),
    h("section", {class: "block"}, h("h2", {}, "Its topics"), h("div", {class: "wide"}, dataTable(`Topics of ${text}`, columns, rows, {class: "relation lists"})),
      h("div", {class: "tools"}, csvButton(`word-${text}`, ["topic", "name", "part"], () => topics.map(([k, part]) => [k, givenName(k), part])))),
    wordTrend(at, text), wordsAlike(at));
  return {title: text, heading: title};
}

function wordTopics(at) {
  const found = [];
  for (let i = words.starts[at]; i < words.starts[at + 1]; i++) found.push([words.topics[i], words.parts[i] / 65535]);
  return found;
}

function wordHeadline(text, topics) {
  const word = h("b", {dir: "auto"}, text);
  if (!topics.length) return [word, " is in no topic by as much as 1%"];
  const [first, second] = topics, told = [word, ` is ${percent(first[1])} in `, topicLink(first[0], "in-text")];
  return second && second[1] >= .05 ? [...told, `, ${percent(second[1])} in `, topicLink(second[0], "in-text")] : told;
}

function wordTrend(at, text) {
  const by = timeView();
  if (!by || !core.has("tracked.words") || by.timed.length < 2) return null;
  const place = core.array("tracked.words").indexOf(at);
  if (place < 0) return null;
  const all = core.array("tracked.uses").subarray(place * by.names.length, (place + 1) * by.names.length), uses = timed(by, all), tokens = timed(by, by.tokens);
  const values = uses.map((n, i) => tokens[i] ? n / tokens[i] : NaN), names = timed(by, by.names);
  return h("section", {class: "block"}, h("h2", {}, "Over time"), figure({
    name: `word-${text}-over-time`, title: `${text}: part of all counted words`,
    draw: (width, tell) => lineChart(width, {names, series: [{values}], label: `Part of all words that are “${text}”, over time`, choose: i => tell(i < 0 ? "" : `${names[i]}: ${count(uses[i])} of ${count(tokens[i])} words`)}),
    table: () => ({columns: [{name: by.label}, {name: "uses", figure: true}, {name: "words", figure: true}], rows: names.map((name, i) => [name, uses[i], tokens[i]])}),
    note: "Part of all counted words.",
  }));
}

// Words whose uses fall into the same topics (cosine), rare ones left out.
function wordsAlike(at) {
  const own = new Map(wordTopics(at)), norm = Math.sqrt([...own.values()].reduce((sum, part) => sum + part * part, 0)), found = [];
  if (!norm) return null;
  for (let w = 0; w < words.uses.length; w++) {
    if (w === at || words.uses[w] < 10) continue;
    let dot = 0, other = 0;
    for (let i = words.starts[w]; i < words.starts[w + 1]; i++) {
      const part = words.parts[i] / 65535;
      other += part * part;
      dot += part * (own.get(words.topics[i]) || 0);
    }
    if (dot) found.push([dot / norm / Math.sqrt(other), w]);
  }
  found.sort((a, b) => b[0] - a[0] || words.uses[b[1]] - words.uses[a[1]]);
  return found.length ? h("section", {class: "block"}, h("h2", {}, "Words that are used alike"), h("p", {class: "note"}, "Their uses fall into the same topics."),
    h("p", {class: "reading"}, found.slice(0, 24).map(([, w], i) => [i ? ", " : "", wordLink(words.names.at(w), "plain")]))) : null;
}
