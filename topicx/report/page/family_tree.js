// The tree beside the list of families: its leaves stand at the heights of their rows.
function familyTree(width, height, places, cut) {
  const {merges} = facts.families, K = facts.topics, top = merges[merges.length - 1][2] || 1, x = linear(.6 * merges[0][2], top, 0, width - 6);
  const node = new Map(places.map((y, k) => [k, {y, x: 0, inside: true}])), parts = [];
  const inner = K - cut;
  merges.forEach(([a, b, h], i) => {
    const first = node.get(a), second = node.get(b), at = x(h), inside = i < inner, kind = inside ? "tree-in" : "tree-out";
    parts.push(
      s("path", {class: inside ? "tree-in" : "tree-out", d: `M${first.x} ${first.y}H${at}V${second.y}H${second.x}`}));
    node.set(K + i, {y: (first.y + second.y) / 2, x: at, kind});
  });
  return s("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Tree of topics: the further right two lines meet, the less their words overlap"}, parts);
}

// Overlaps of all topics in the order of the families, in seven steps.
const HEAT_STEPS = [.05, .1, .2, .3, .45, .6];
function heatmap(width, order) {
  const overlap = core.array("overlap"), K = facts.topics, cell = Math.max(2, Math.min(22, (width - 40) / K)), size = Math.ceil(cell * K);
  const canvas = h("canvas", {width: size * 2, height: size * 2, role: "img", "aria-label": "Overlap of the words of all pairs of topics, in the order of the families; the table has the numbers"});
  canvas.style.width = canvas.style.height = size + "px";
  const paint = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
  const hues = HEAT_STEPS.concat(1).map((_, i) => style.getPropertyValue("--h" + i));
  order.forEach((a, row) => order.forEach((b, column) => {
    const value = overlap[a * K + b] / 255, step = HEAT_STEPS.findIndex(limit => value < limit);
    paint.fillStyle = hues[step < 0 ? 6 : step];
    paint.fillRect(column * cell * 2, row * cell * 2, Math.ceil(cell * 2), Math.ceil(cell * 2));
  }));
  return canvas;
}
