// Six hues for several things in one plane, each with a second mark. Slots go out in the order of entering.
const DASHES = ["", "7 4", "2 4", "12 3 2 3", "14 5", "10 3 2 3 2 3"];

function slotClass(slot) { return "k" + (slot < 12 ? slot % 6 + 1 : 0); }
function markOf(slot) { return slot < 6 ? slot : (slot + 1) % 6; }
function dashOf(slot) { return DASHES[markOf(slot)]; }

function lineSample(slot) {
  return s("svg", {class: "swatch " + slotClass(slot), width: 26, height: 8, "aria-hidden": "true", focusable: "false"},
    s("line", {class: "coloured", x1: 0, x2: 26, y1: 4, y2: 4, "stroke-dasharray": dashOf(slot)}));
}

// Points: disc, diamond, square, circle, triangle, hollow square.
function pointMark(slot, x, y, size = 5) {
  const kind = slotClass(slot) + (([1, 3, 5].includes(markOf(slot))) ? " coloured-hollow" : " coloured-dot");
  switch (markOf(slot)) {
    case 1: return s("path", {class: kind, d: `M${x} ${y - size - 1}L${x + size + 1} ${y}L${x} ${y + size + 1}L${x - size - 1} ${y}Z`});
    case 2: return s("rect", {class: kind, x: x - size + .5, y: y - size + .5, width: 2 * size - 1, height: 2 * size - 1});
    case 4: return s("path", {class: kind, d: `M${x} ${y - size}L${x + size} ${y + size - 1}L${x - size} ${y + size - 1}Z`});
    case 5: return s("rect", {class: kind, x: x - size + 1, y: y - size + 1, width: 2 * size - 2, height: 2 * size - 2});
    default: return s("circle", {class: kind, cx: x, cy: y, r: size});
  }
}

function pointSample(slot) {
  return s("svg", {class: "swatch", width: 14, height: 14, "aria-hidden": "true", focusable: "false"}, pointMark(slot, 7, 7));
}
