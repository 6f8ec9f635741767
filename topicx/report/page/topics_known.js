// What the page knows of topics, and what the reader has changed.
let facts, core, words, textLanguage = document.documentElement.dataset.texts;
const edits = {names: new Map(), notes: new Map(), hidden: new Map()};

async function readCore() {
  core = await part("core");
  facts = core.json("facts");
  facts.about = (await part("about")).json("rows");
  words = {
    names: core.strings("words"), uses: core.array("words.uses"), starts: sums(core.array("words.counts")),
    topics: core.array("words.topics"), parts: core.array("words.parts"),
    topicStarts: core.array("topics.starts"), topicWords: core.array("topics.words"), topicUses: core.array("topics.uses"),
  };
  words.total = words.uses.reduce((a, b) => a + b, 0);
  facts.by.forEach((by, i) => {
    by.mean = core.scaled(`by${i}.mean`);
    by.low = core.scaled(`by${i}.low`);
    by.high = core.scaled(`by${i}.high`);
    by.shares = k => by.names.map((_, g) => by.mean[g * facts.topics + k]);
    by.lows = k => by.names.map((_, g) => by.low[g * facts.topics + k]);
    by.highs = k => by.names.map((_, g) => by.high[g * facts.topics + k]);
    by.timed = by.ordered ? by.names.map((_, g) => g).filter(g => by.times[g] != null) : [];
  });
}

function givenName(k) { return edits.names.has(k) ? edits.names.get(k) : facts.names[k]; }
function named(k) { return Boolean(givenName(k)); }
function called(k) { return givenName(k) || facts.top[k].slice(0, 3).join(" ") || "topic " + k; }
function noted(k) { return edits.notes.has(k) ? edits.notes.get(k) : facts.notes[k] || ""; }
function away(k) { return edits.hidden.has(k) ? edits.hidden.get(k) : facts.hidden.includes(k); }
function shownTopics() { return [...Array(facts.topics).keys()].filter(k => !away(k)); }
function timeView() { return facts.by.find(by => by.ordered); }
function careOf(k) { return facts.care[k] || []; }
function plainSentence(parts) { return parts.map(part => typeof part === "number" ? called(part) : part.w || part).join(""); }

// A topic's words by relevance at λ: word number, uses here, uses everywhere.
function topicWords(k, ratio, number = 24) {
  const found = [];
  let total = 0;
  for (let i = words.topicStarts[k]; i < words.topicStarts[k + 1]; i++) total += words.topicUses[i];
  for (let i = words.topicStarts[k]; i < words.topicStarts[k + 1]; i++) {
    const word = words.topicWords[i], here = words.topicUses[i], all = Math.max(words.uses[word], here);
    const inside = Math.log(here / total);
    found.push({word, here, all, score: ratio * inside + (1 - ratio) * (inside - Math.log(all / words.total))});
  }
  return found.sort((a, b) => b.score - a.score || a.word - b.word).slice(0, number);
}

// The documents: names, titles, columns, topics.
let documentsKnown;
function readDocuments() {
  return documentsKnown ??= part("docs").then(docs => {
    const known = {
      ids: docs.strings("ids"), lengths: docs.array("lengths"), titles: docs.has("titles.bytes") ? docs.strings("titles") : null,
      starts: sums(docs.array("theta.counts")), topics: docs.planes("theta.topics"), shares: docs.array("theta.shares"),
      columns: docs.json("columns"), length: head.documents, part: docs,
    };
    for (const column of known.columns) readColumn(docs, column);
    known.title = d => known.titles?.at(d) || known.ids.at(d);
    known.share = i => (known.shares[i] / 255) ** 2;
    known.spans = facts.by.map(by => docs.has(`span.${by.column}.low`) ? docs.planes(`span.${by.column}`) : null);
    return known;
  });
}

function readColumn(docs, column) {
  const name = "column." + column.name;
  if (column.kind === "number") {
    const values = docs.array(name);
    column.at = d => Number.isFinite(values[d]) ? String(values[d]) : "";
  } else if (column.kind === "names") {
    const codes = docs.planes(name);
    column.at = d => column.values[codes[d]];
  } else {
    const texts = docs.strings(name);
    column.at = d => texts.at(d);
  }
}

function documentTopics(known, d) {
  const found = [];
  for (let i = known.starts[d]; i < known.starts[d + 1]; i++) found.push([known.topics[i], known.share(i)]);
  return found;
}

// The texts of a document and the marks in it: the block that has it is unpacked.
async function documentText(d) {
  if (!head.blocks) return null;
  let low = 0, high = head.blocks - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((await part("texts" + middle)).array("first")[0] <= d) low = middle;
    else high = middle - 1;
  }
  const block = await part("texts" + low), place = d - block.array("first")[0];
  block.starts ??= sums(block.array("marks.counts"));
  block.texts ??= block.strings("texts");
  return {text: block.texts.at(place), marks: marksOf(block, place)};
}

// The documents whose texts have this in them, small or capital.
async function documentsSaying(text) {
  const found = new Set();
  for (let b = 0; b < head.blocks; b++) {
    const block = await part("texts" + b), first = block.array("first")[0];
    block.texts ??= block.strings("texts");
    for (let i = 0; i < block.texts.length; i++) if (block.texts.at(i).toLowerCase().includes(text)) found.add(first + i);
  }
  return found;
}

function marksOf(block, place) {
  const gaps = block.array("marks.gaps"), sizes = block.array("marks.sizes"), topics = block.markTopics ??= block.planes("marks.topics");
  const found = [];
  let at = 0;
  for (let i = block.starts[place]; i < block.starts[place + 1]; i++) {
    at += gaps[i];
    if (sizes[i]) found.push([at, at + sizes[i], topics[i]]);
    at += sizes[i];
  }
  return found;
}
