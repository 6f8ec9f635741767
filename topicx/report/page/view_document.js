// One document: its topics, its words with theirs, documents like it.
async function viewDocument(root, [id], query) {
  if (!head.documents) return viewMissing(root, "The report has no documents of their own: it was made of a model alone.");
  const known = await readDocuments(), d = known.ids.find(id);
  if (d < 0) return viewMissing(root, `There is no ${unit(1)} “${id}” in this report.`);
  const topics = documentTopics(known, d), found = await documentText(d), title = heading(h("span", {dir: "auto"}, known.title(d)));
  title.classList.add("name");
  const marks = query.marks || "both", chosen = query.topic == null ? null : +query.topic, largest = topics.map(([k]) => k);
  const slots = new Map(largest.slice(0, 6).map((k, i) => [k, i]));
  if (chosen != null && !slots.has(chosen)) slots.set(chosen, 5);
  const page = h("div", {}, known.titles ? h("p", {class: "note"}, `${cap(unit(1))} `, h("bdi", {}, id)) : null, title,
    topics.length ? h("p", {class: "lead"}, documentSentence(topics)) : h("p", {class: "lead"}, "No word of it is known to the model."),
    h("p", {class: "meta"}, known.columns.map(column => column.at(d) ? h("span", {}, ` ${column.name}: `, h("a", {href: column.kind === "names" ? address(["documents"], {["c." + column.name]: column.at(d)}) : null, dir: "auto"}, column.at(d))) : null), facts.counted ? h("span", {}, `${count(known.lengths[d])} words counted`) : null),
    h("div", {class: "text-key"}, h("section", {"aria-label": "Text"}, found ? markedText(found, slots, marks, chosen) : h("p", {class: "reading"}, "The text is not in this report (--snippets full puts it in).")),
      h("section", {class: "key"}, documentKey(topics, slots, id, query, marks, chosen, found))),
    likeThis(known, d, topics));
  add(root, railed(largest[0], page));
  return {title: known.title(d), heading: title};
}

function documentSentence(topics) {
  const said = topics.filter(([, share]) => share >= .05).slice(0, 3);
  if (!said.length) return [topicLink(topics[0][0], "in-text"), ` (${percent(topics[0][1])}) is the largest of many small topics.`];
  const [first, ...rest] = said, part = fraction(first[1]);
  return [part ? [part, " is ", topicLink(first[0], "in-text"), ` (${percent(first[1])})`] : ["Mostly ", topicLink(first[0], "in-text"), ` (${percent(first[1])})`],
    rest.map(([k, share], i) => [i === 0 ? ", then " : " and ", topicLink(k, "in-text"), ` (${percent(share)})`]), "."];
}

function fraction(share) {
  for (const [value, text] of [[.9, null], [.75, "Three quarters"], [2 / 3, "Two thirds"], [.5, "Half"], [1 / 3, "A third"], [.25, "A quarter"], [.2, "A fifth"]]) if (Math.abs(share - value) < .035) return text;
  return share > .5 ? null : "The largest part";
}

function markedText({text, marks}, slots, kind, chosen) {
  const holder = h("p", {class: ["document-text", ["both", "numbers"].includes(kind) ? "n-on" : "", ["numbers", "none"].includes(kind) ? "l-off" : "", chosen == null ? "" : "one-chosen"].join(" "), dir: "auto", lang: textLanguage});
  let at = 0;
  for (const [begin, end, k] of marks) {
    if (begin > at) holder.append(text.slice(at, begin));
    const slot = slots.get(k), piece = text.slice(begin, end);
    holder.append(slot == null || kind === "none" ? piece : h("span", {class: `m u${slot + 1} ${slotClass(slot)}${k === chosen ? " on" : ""}${piece.length > 40 ? " long" : ""}`, "data-n": k, title: `${k} ${called(k)}`}, piece));
    at = end;
  }
  holder.append(text.slice(at));
  return [holder, h("p", {class: "note block"}, marks.length ? `Each marked word has the number of the topic that the model gave it; underlines repeat this for the six largest. Unmarked: stop words, rare words, other topics.` : "The topics of its words are not known: they are in a state.")];
}

function documentKey(topics, slots, id, query, marks, chosen, found) {
  const most = topics[0]?.[1] || 1;
  const rows = topics.slice(0, 12).map(([k, share]) => {
    const slot = slots.get(k), kind = slot == null ? "k0" : slotClass(slot);
    return h("li", {}, h("button", {type: "button", class: "key-row " + kind, "aria-pressed": String(k === chosen), onclick: () => go(["document", id], {...query, topic: k === chosen ? null : k}, true)},
      h("span", {}, slot == null ? "" : underlineSample(slot)), h("span", {class: "no"}, k), h("span", {dir: "auto", class: named(k) ? "" : "serif"}, called(k)), h("span", {}, percent(share)),
      s("svg", {class: "long", viewBox: "0 0 100 5", preserveAspectRatio: "none", "aria-hidden": "true", focusable: "false"}, s("rect", {class: "coloured-dot " + kind, width: 100 * share / most, height: 5}))));
  });
  return [h("h2", {}, `Topics of this ${unit(1)}`), found?.marks.length ? h("p", {class: "note"}, "Choose one to see its words alone.") : null, h("ul", {class: "block-small"}, rows),
    chosen == null ? null : h("p", {class: "tools"}, topicLink(chosen, "plain", " →")),
    found?.marks.length ? choices("Marks", [["both", "both"], ["numbers", "numbers"], ["lines", "lines"], ["none", "none"]], marks, value => go(["document", id], {...query, marks: value}, true)) : null];
}

function underlineSample(slot) {
  const sample = h("span", {class: `m u${slot + 1} ${slotClass(slot)}`, "aria-hidden": "true"}, "\u00a0\u00a0\u00a0\u00a0");
  sample.style.textDecorationLine = "underline";
  sample.style.textDecorationThickness = "3px";
  return sample;
}

// Documents with the most similar mixture of topics (cosine).
function likeThis(known, d, topics) {
  const mixture = new Float32Array(facts.topics), best = [];
  let norm = 0;
  for (const [k, share] of topics) { mixture[k] = share; norm += share * share; }
  if (!norm) return null;
  for (let e = 0; e < known.length; e++) {
    if (e === d) continue;
    let dot = 0, own = 0;
    for (let i = known.starts[e]; i < known.starts[e + 1]; i++) {
      const share = known.share(i);
      dot += share * mixture[known.topics[i]];
      own += share * share;
    }
    const value = own ? dot / Math.sqrt(norm * own) : 0;
    if (best.length < 5 || value > best[best.length - 1][0]) {
      best.push([value, e]);
      best.sort((a, b) => b[0] - a[0] || a[1] - b[1]);
      best.length = Math.min(best.length, 5);
    }
  }
  if (!best.length) return null;
  const list = h("ol", {class: "passages alike"});
  best.forEach(([value, e]) => {
    const id = known.ids.at(e), row = h("li", {}, h("div", {class: "head"}, h("a", {href: address(["document", id]), dir: "auto"}, h("b", {}, known.title(e))), known.titles ? [" · ", h("bdi", {}, id)] : null), h("div", {class: "part"}, value.toFixed(2)));
    documentText(e).then(found => { if (found) row.append(h("p", {dir: "auto", lang: textLanguage}, clipped(found.text, 150))); });
    list.append(row);
  });
  return h("section", {class: "block"}, h("h2", {}, `${cap(facts.unit[1])} like this one`), h("p", {class: "note"}, "By the mixture of topics; 1 is the same mixture."), list);
}
