// Dots over one axis from 0 to 1, stacked where they are near; the lowest carry their topics' numbers.
function dotRow(width, points, describe) {
  const left = 8, right = 8, size = width < 560 ? 4 : 5, gap = 2 * size + 2, x = linear(0, 1, left, width - right);
  const columns = new Map();
  for (const point of [...points].sort((a, b) => a.value - b.value || a.topic - b.topic)) {
    const at = Math.round(x(point.value) / gap);
    columns.set(at, [...(columns.get(at) || []), point]);
  }
  const most = Math.max(...[...columns.values()].map(one => one.length), 1), step = Math.min(gap, Math.max(3, 150 / most));
  const bottom = 22 + most * step, height = bottom + 24;
  const dots = [...columns].flatMap(([at, stack]) => stack.map((point, i) => ({...point, px: at * gap, py: bottom - size - 2 - i * step})));
  const named_ = dots.filter(dot => !dot.steady).slice(0, 12).filter((dot, i, all) => !i || dot.px - all[i - 1].px > 14);
  return s("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img"}, s("title", {}, "Topics by how far they come again"), s("desc", {}, describe), innards([
    [0, .25, .5, .75, 1].map(value => [s("line", {class: "tick", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 4}), s("text", {x: x(value), y: bottom + 17, "text-anchor": value === 0 ? "start" : value === 1 ? "end" : "middle"}, String(value))]),
    s("line", {class: "zero", x1: left, x2: width - right, y1: bottom + .5, y2: bottom + .5}),
    dots.map(dot => s("circle", {class: dot.steady ? "dot" : "care", cx: dot.px, cy: dot.py, r: dot.steady ? size : size - 1})),
    named_.map(dot => s("text", {class: "small", x: dot.px, y: Math.min(...dots.filter(one => one.px === dot.px).map(one => one.py)) - size - 3, "text-anchor": "middle"}, dot.topic))]));
}
