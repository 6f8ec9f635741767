// Families: topics that use the same words stand together.
function viewFamilies(root, _, query) {
  const numbers = Object.keys(facts.families.cuts), cut = numbers.includes(query.n) ? query.n : String(facts.families.usual), title = heading(sentence(facts.families.sentences[cut]));
  const list = h("div", {}, facts.families.cuts[cut].map((members, i) => family(members, facts.families.words[cut][i]))), tree = h("div", {class: "tree"}), grid = h("div", {class: "families-grid"}, list, tree);
  const rows = () => facts.families.cuts[cut].flatMap((members, i) => members.map(k => [i + 1, facts.families.words[cut][i].join(" "), k, givenName(k), facts.top[k].join(" "), facts.share[k]]));
  add(root, title, h("p", {class: "sub"}, facts.topics > 1 ? "Topics that use the same words stand together. The further right two lines meet, the less their words overlap." : "There is one topic alone."),
    h("div", {class: "chips"}, numbers.length > 1 ? choices("Families", numbers.map(n => [n, n]), cut, n => go(["families"], {...query, n}, true)) : null, h("span", {class: "push tools"}, csvButton("families", ["family", "words of the family", "topic", "name", "words", "share"], rows), facts.topics > 1 ? button("SVG of the tree", () => saveSvg(tree, "families", plainSentence(facts.families.sentences[cut]))) : null)), grid);
  if (core.has("overlap") && facts.topics > 1) add(root, heatSection(facts.families.cuts[cut].flat()));
  if (facts.topics > 1) new ResizeObserver(() => drawTree(tree, list, +cut)).observe(grid);
  return {title: "Families", heading: title};
}

function family(members, named_) {
  const share = members.reduce((sum, k) => sum + facts.share[k], 0);
  return h("section", {class: "family"}, h("h2", {}, h("bdi", {}, named_.join(", ")), " ", h("span", {}, `${members.length} topic${members.length > 1 ? "s" : ""}, ${percent(share)} of ${facts.share_of}`)),
    h("ul", {}, members.map(k => h("li", {"data-topic": k}, h("span", {class: "no"}, k), h("span", {class: "name" + (named(k) ? "" : " unnamed")}, topicLink(k, "")), h("span", {class: "words", dir: "auto"}, facts.top[k].join(" ")), h("span", {class: "part"}, percent(facts.share[k]))))));
}

function drawTree(tree, list, cut) {
  const width = tree.clientWidth, top = list.getBoundingClientRect().top, places = [];
  if (!width) return;
  list.querySelectorAll("li").forEach(row => { const box = row.getBoundingClientRect(); places[+row.dataset.topic] = Math.round(box.top - top + box.height / 2) + .5; });
  tree.replaceChildren(familyTree(width, Math.ceil(list.getBoundingClientRect().height), places, cut));
}

function heatSection(order) {
  const holder = h("div", {}), overlap = core.array("overlap"), K = facts.topics;
  const show = button("Show the overlaps of all pairs", () => {
    holder.replaceChildren(figure({
      name: "overlaps", title: "Overlap of the words of all pairs of topics", draw: width => h("div", {class: "heat"}, heatmap(width, order)),
      table: () => ({columns: [{name: "topic"}, ...order.map(k => ({name: String(k), figure: true}))], rows: order.map(a => [`${a} ${called(a)}`, ...order.map(b => (overlap[a * K + b] / 255).toFixed(2))])}),
      note: `In the order of the families. Seven steps, darker (in a dark window, lighter) is more: up to ${HEAT_STEPS.join(", ")}, and above.`,
    }));
    show.remove();
  }, {class: "plain-button"});
  return h("section", {class: "block"}, h("h2", {}, "Overlaps"), show, holder);
}
