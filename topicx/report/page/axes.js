// Axes: horizontal gridlines, labels at round years.
function linear(from, to, start, end) {
  const scale = to === from ? 0 : (end - start) / (to - from);
  return value => start + (value - from) * scale;
}

function shareGrid(top, x0, x1, y, about) {
  const all = steps(top, about), last = all[all.length - 1];
  return all.map(value => [
    s("line", {class: value ? "grid" : "zero", x1: x0, x2: x1, y1: Math.round(y(value)) + .5, y2: Math.round(y(value)) + .5}),
    s("text", {x: x0 - 8, y: y(value) + 4, "text-anchor": "end"}, stepLabel(value, value === last)),
  ]);
}

// Which spans are labelled: round years that fit, else every n-th.
function labelled(names, room) {
  const years = names.map(name => /^-?\d{3,4}/.test(name) ? parseInt(name, 10) : NaN);
  if (years.every(Number.isFinite) && years.length > 1) {
    for (const step of [1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000]) {
      const fit = years.map((_, i) => i).filter(i => years[i] % step === 0 && years[i] !== years[i - 1]);
      if (fit.length && fit.length <= room) return fit;
    }
  }
  const every = Math.max(1, Math.ceil(names.length / room));
  return names.map((_, i) => i).filter(i => i % every === 0);
}

// The same, and the first span, for which a label too near to it makes room.
function labelledFromFirst(names, room) {
  const found = labelled(names, room), least = names.length / room / 2;
  return found[0] ? [0, ...found.filter(i => i >= least)] : found;
}

function spanTicks(names, x, base, room) {
  return labelledFromFirst(names, room).map(i => [
    s("line", {class: "tick", x1: x(i), x2: x(i), y1: base, y2: base + 5}),
    s("text", {x: x(i), y: base + 18, "text-anchor": i === 0 ? "start" : "middle"}, names[i]),
  ]);
}

// A path that breaks where a value is missing.
function pathOf(values, x, y) {
  let path = "", pen = false;
  values.forEach((value, i) => {
    if (!Number.isFinite(value)) { pen = false; return; }
    path += (pen ? "L" : "M") + x(i).toFixed(1) + " " + y(value).toFixed(1);
    pen = true;
  });
  return path;
}

function bandPath(low, high, x, y) {
  let path = "", run = [];
  const close = () => {
    if (run.length > 1) path += "M" + [...run.map(i => `${x(i).toFixed(1)} ${y(high[i]).toFixed(1)}`), ...run.reverse().map(i => `${x(i).toFixed(1)} ${y(low[i]).toFixed(1)}`)].join("L") + "Z";
    run = [];
  };
  low.forEach((value, i) => Number.isFinite(value) && Number.isFinite(high[i]) ? run.push(i) : close());
  close();
  return path;
}

function lastKnown(values) {
  for (let i = values.length - 1; i >= 0; i--) if (Number.isFinite(values[i])) return i;
  return -1;
}

function largest(values) { return values.reduce((best, value, i) => Number.isFinite(value) && !(value <= values[best]) ? i : best, lastKnown(values)); }

// Labels at line ends, pushed apart and kept above the axis.
function spread(places, gap, low, high) {
  const order = places.map((_, i) => i).sort((a, b) => places[a] - places[b]), found = [...places];
  order.forEach((at, n) => { if (n) found[at] = Math.max(found[at], found[order[n - 1]] + gap); });
  let limit = high;
  for (const at of order.reverse()) {
    found[at] = Math.max(Math.min(found[at], limit), low);
    limit = found[at] - gap;
  }
  return found;
}
