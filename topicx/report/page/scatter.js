// A dot a topic; labels by a greedy placement: name, else number, else nothing.
function scatterChart(width, {points, xLabel, yLabel, ends, label, describe, digits}) {
  const phone = width < 560, height = phone ? 300 : 400, left = 52, right = phone ? 12 : 24, bottom = height - 44;
  const span = key => padded(points.map(point => point[key])), xs = span("x"), ys = span("y");
  const x = linear(xs[0], xs[1], left, width - right), y = linear(ys[0], ys[1], bottom, 12), nodes = [];
  for (const value of between(xs, 5)) nodes.push(s("line", {class: "grid", x1: x(value), x2: x(value), y1: 8, y2: bottom}), s("text", {x: x(value), y: bottom + 18, "text-anchor": "middle"}, signed(value, fitting(xs, 5, digits[0]))));
  for (const value of between(ys, 4)) nodes.push(s("line", {class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value)}), s("text", {x: left - 8, y: y(value) + 4, "text-anchor": "end"}, signed(value, fitting(ys, 4, digits[1]))));
  nodes.push(s("text", {x: left, y: height - 6}, "← " + ends[0]), s("text", {x: width - right, y: height - 6, "text-anchor": "end"}, ends[1] + " →"));
  const most = Math.max(...points.map(point => point.size)), taken = [];
  const dots = points.map(point => ({...point, px: x(point.x), py: y(point.y), r: Math.max(3, 9 * Math.sqrt(point.size / most))}));
  for (const dot of dots) taken.push([dot.px - dot.r, dot.py - dot.r, dot.px + dot.r, dot.py + dot.r]);
  for (const dot of dots) nodes.push(s("circle", {class: dot.care ? "care" : "dot", cx: dot.px, cy: dot.py, r: dot.r}));
  for (const dot of [...dots].sort((a, b) => b.care - a.care || b.size - a.size)) nodes.push(placedLabel(dot, taken, width - right, height - 60, phone));
  return s("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img"}, s("title", {}, label), s("desc", {}, describe), innards(nodes));
}

function padded(values) {
  const low = Math.min(...values), high = Math.max(...values), more = (high - low || Math.abs(high) || 1) * .06;
  return [low - more, high + more];
}

function between([low, high], about) {
  const all = steps(high - low, about), step = all[1], found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) found.push(+value.toPrecision(10));
  return found;
}

// Digits after the point that tell steps apart.
function fitting([low, high], about, least) {
  return Math.max(least, -Math.floor(Math.log10(steps(high - low, about)[1]) + 1e-9));
}

function placedLabel(dot, taken, right, bottom, phone) {
  for (const text of phone ? [String(dot.topic)] : [`${dot.topic} ${clipped(dot.name, 26)}`, String(dot.topic)]) {
    const wide = text.length * 6.4, r = dot.r + 4;
    for (const [dx, dy, anchor] of [[r, 4, "start"], [-r, 4, "end"], [0, -r, "middle"], [0, r + 9, "middle"]]) {
      const begin = dot.px + dx - (anchor === "end" ? wide : anchor === "middle" ? wide / 2 : 0), box = [begin, dot.py + dy - 11, begin + wide, dot.py + dy + 2];
      if (box[0] < 54 || box[2] > right || box[1] < 2 || box[3] > bottom + 16 || taken.some(one => box[0] < one[2] && box[2] > one[0] && box[1] < one[3] && box[3] > one[1])) continue;
      taken.push(box);
      const [number, ...rest] = text.split(" ");
      return s("text", {x: dot.px + dx, y: dot.py + dy, "text-anchor": anchor}, s("tspan", {class: "strong"}, number), rest.length ? s("tspan", {class: "second"}, " " + rest.join(" ")) : []);
    }
  }
  return [];
}

// The trace of a run: the objective by sweep.
function traceChart(width, sweeps, scores, label) {
  const height = 220, left = 56, right = 56, bottom = 184, tall = padded(scores), x = linear(sweeps[0], sweeps[sweeps.length - 1], left, width - right), y = linear(tall[0], tall[1], bottom, 10);
  const last = scores.length - 1, digits = Math.max(0, Math.min(4, 1 - Math.floor(Math.log10((tall[1] - tall[0]) / 3))));
  return s("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img"}, s("title", {}, label), innards([
    between(tall, 4).map(value => [s("line", {class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value)}), s("text", {x: left - 8, y: y(value) + 4, "text-anchor": "end"}, signed(value, digits))]),
    between([sweeps[0], sweeps[last]], 3).map(value => s("text", {x: x(value), y: bottom + 20, "text-anchor": "middle"}, count(value))),
    s("path", {class: "curve", d: scores.map((value, i) => (i ? "L" : "M") + x(sweeps[i]).toFixed(1) + " " + y(value).toFixed(1)).join("")}),
    s("circle", {class: "dot", cx: x(sweeps[last]), cy: y(scores[last]), r: 3}),
    s("text", {class: "strong", x: x(sweeps[last]) + 8, y: y(scores[last]) + 4}, signed(scores[last], digits))]));
}
