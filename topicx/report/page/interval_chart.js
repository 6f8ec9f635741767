// Two or more groups: a point with its interval each, a row a topic.
function intervalChart(width, {rows, groups, unitLabel, label, describe}) {
  const phone = width < 640, left = phone ? 6 : Math.min(300, width * .26), right = phone ? 8 : 108, rowHeight = phone ? 46 : 30;
  const top = Math.max(...rows.flatMap(row => row.values.flatMap(value => [value.mean, value.high || 0])).filter(Number.isFinite), 1e-4);
  const all = steps(top, phone ? 4 : 6), x = linear(0, top * 1.03, left, width - right);
  let at = 34;
  const nodes = [], links = [], places = rows.map((row, i) => {
    if (i && row.side !== rows[i - 1].side) at += 26;
    const here = at;
    at += rowHeight;
    return here + rowHeight / 2;
  });
  const height = at + 8;
  all.forEach((value, i) => nodes.push(
    s("line", {class: i ? "grid" : "zero", x1: x(value) + .5, x2: x(value) + .5, y1: 28, y2: height - 8}),
    s("text", {x: x(value), y: 18, "text-anchor": "middle"}, stepLabel(value, i === 0))));
  if (!phone) nodes.push(s("text", {x: width, y: 18, "text-anchor": "end"}, unitLabel));
  rows.forEach((row, i) => {
    nodes.push(intervalRow(row, places[i], x, groups, width, phone, i === 0));
    links.push(rowLink(row, places[i], groups, left, phone));
  });
  return s("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label}, s("title", {}, label), s("desc", {}, describe || ""), innards(nodes), links);
}

// The topic's name, which says its numbers to those who do not see the points.
function rowLink(row, middle, groups, left, phone) {
  const told = row.values.map((value, i) => `${groups[i]} ${percent(value.mean)}${interval(value.low, value.high)}`).join("; ");
  return s("a", {href: topicAddress(row.topic), "aria-label": `${called(row.topic)} ${row.topic}: ${told}`}, s("text", {class: named(row.topic) ? "named" : "unnamed", x: phone ? left : left - 14, y: phone ? middle - 8 : middle + 4, "text-anchor": phone ? "start" : "end"},
    clipped(called(row.topic), 32), s("tspan", {class: "second", "font-weight": 400}, " " + row.topic)));
}

function intervalRow(row, middle, x, groups, width, phone, first) {
  const y = phone ? middle + 10 : middle, known = row.values.filter(value => Number.isFinite(value.mean)), means = known.map(value => value.mean);
  const marks = row.values.map((value, i) => !Number.isFinite(value.mean) ? [] : [
    Number.isFinite(value.low) ? s("rect", {class: "coloured-bar " + slotClass(i), x: x(value.low), y: y - 3, width: Math.max(x(value.high) - x(value.low), 1), height: 6}) : [],
  ]);
  const points = row.values.map((value, i) => Number.isFinite(value.mean) ? pointMark(i, x(value.mean), y) : []);
  const line = means.length > 1 ? s("line", {class: "tick", x1: x(Math.min(...means)), x2: x(Math.max(...means)), y1: y, y2: y}) : [];
  const numbers = phone ? [] : s("text", {class: "second", x: width, y: middle + 4, "text-anchor": "end"}, row.values.slice(0, 2).map(value => percent(value.mean)).join(" : "));
  return [line, marks, points, numbers, first ? groupLabels(row, y, x, groups, width - (phone ? 8 : 108)) : []];
}

// Names of the groups at the points of the first row, on the free sides.
function groupLabels(row, y, x, groups, end) {
  const order = row.values.slice(0, 2).map((value, i) => ({value, i})).filter(one => Number.isFinite(one.value.mean)).sort((a, b) => a.value.mean - b.value.mean);
  return order.map(({value, i}, place) => {
    const before = place === 0 && order.length > 1, edge = before ? Math.min(value.mean, value.low || value.mean) : Math.max(value.mean, value.high || value.mean);
    if (before && x(edge) - 10 < x(0) + 7 * groups[i].length) return [];
    if (!before && x(edge) + 10 + 7.2 * Math.min(groups[i].length, 28) > end) {  // no room beside the point: above it
      return s("text", {class: "coloured-text " + slotClass(i), x: Math.min(x(edge), end), y: y - 12, "text-anchor": "end"}, clipped(groups[i], 28));
    }
    return s("text", {class: "coloured-text " + slotClass(i), x: x(edge) + (before ? -10 : 10), y: y + 4, "text-anchor": before ? "end" : "start"}, clipped(groups[i], 28));
  });
}
