// Shares over time: one topic in blue with its band, or several with labels at their ends.
function lineChart(width, {names, series, ghosts = [], counts, countWord, height = 210, label, describe, choose}) {
  const phone = width < 560, several = series.some(one => one.slot != null);
  const left = 44, right = several ? (phone ? 34 : 178) : phone ? 46 : 72, bottom = height;
  const x = linear(0, Math.max(names.length - 1, 1), left + 2, width - right), top = Math.max(...series.flatMap(one => [...one.values, ...(one.high || [])]).filter(Number.isFinite), ...ghosts.flat().filter(Number.isFinite), 1e-4);
  const y = linear(0, top * 1.02, bottom, 16);
  const total = bottom + 26 + (counts ? 48 : 0), few = names.length < 6;
  const nodes = [shareGrid(top, left, width - right, y), spanTicks(names, x, bottom, Math.max(2, Math.floor(width / 110)))];
  nodes.push(ghosts.map(values => s("path", {class: "ghost", d: pathOf(values, x, y)})));
  for (const one of series) nodes.push(curve(one, x, y, few));
  nodes.push(several ? endLabels(series, names, x, y, width, right, bottom, phone) : series.length ? peakLabels(series[0], names, x, y, width - right) : []);
  if (counts) nodes.push(countStrip(counts, countWord, names, x, bottom + 32, width - right - left, left));
  const svg = s("svg", {width, height: total, viewBox: `0 0 ${width} ${total}`, role: "img", tabindex: "0"},
    s("title", {}, label), s("desc", {}, [describe, choose ? "Left and Right read the values one by one" : ""].filter(Boolean).join(". ")), innards(nodes));
  if (choose) crosshair(svg, x, names.length, 10, bottom, choose);
  return svg;
}

function curve(one, x, y, few) {
  const slotted = one.slot != null, kind = slotted ? "coloured " + slotClass(one.slot) : "curve", found = [];
  if (few) {
    one.values.forEach((value, i) => {
      if (!Number.isFinite(value)) return;
      if (one.low && Number.isFinite(one.low[i])) found.push(s("line", {class: kind, x1: x(i), x2: x(i), y1: y(one.low[i]), y2: y(one.high[i])}));
      found.push(slotted ? pointMark(one.slot, x(i), y(value)) : s("circle", {class: "dot", cx: x(i), cy: y(value), r: 4.5}));
    });
    return found;
  }
  if (one.low) found.push(s("path", {class: slotted ? "coloured-band " + slotClass(one.slot) : "band", d: bandPath(one.low, one.high, x, y)}));
  found.push(s("path", {class: kind, d: pathOf(one.values, x, y), "stroke-dasharray": slotted ? dashOf(one.slot) : null}));
  one.values.forEach((value, i) => {  // a span alone between empty ones has no line
    const alone = Number.isFinite(value) && !Number.isFinite(one.values[i - 1]) && !Number.isFinite(one.values[i + 1]);
    if (alone) found.push(s("circle", {class: slotted ? "coloured-dot " + slotClass(one.slot) : "dot", cx: x(i), cy: y(value), r: 3}));
  });
  return found;
}

function peakLabels(one, names, x, y, end) {
  const peak = largest(one.values), last = lastKnown(one.values), found = [];
  if (peak < 0) return found;
  const free = x(peak) < end * .7;
  if (peak !== last) found.push(
    s("circle", {class: "dot", cx: x(peak), cy: y(one.values[peak]), r: 3.5}),
    s("text", {x: x(peak) + (free ? 9 : -9), y: y(one.values[peak]) - 2, "text-anchor": free ? "start" : "end"},
      s("tspan", {class: "strong"}, percent(one.values[peak])), s("tspan", {class: "second"}, " in " + ofBin(names[peak]))));
  found.push(
    s("circle", {class: one.partial ? "hollow" : "dot", cx: x(last), cy: y(one.values[last]), r: 3}),
    s("text", {class: "strong", x: x(last) + 9, y: y(one.values[last]) + 2}, percent(one.values[last])),
    s("text", {class: "second", x: x(last) + 9, y: y(one.values[last]) + 16}, names[last]));
  return found;
}

function endLabels(series, names, x, y, width, right, bottom, phone) {
  const ends = series.map(one => lastKnown(one.values)), places = series.map((one, i) => y(one.values[ends[i]]) + 4);
  const put = spread(places, phone ? 15 : 34, 14, bottom - (phone ? 0 : 12)), at = width - right + (phone ? 6 : 22);
  return series.map((one, i) => [
    phone ? [] : s("path", {class: "coloured-leader " + slotClass(one.slot), d: `M${x(ends[i]) + 4} ${places[i] - 4}L${at - 4} ${put[i] - 4}`}),
    s("text", {class: "coloured-text " + slotClass(one.slot), x: at, y: put[i], dir: "auto"}, phone ? one.mark : clipped(`${one.mark} ${one.name}`, 24)),
    phone ? [] : s("text", {class: "second", x: at, y: put[i] + 14}, `${percent(one.values[ends[i]])} in ${ofBin(names[ends[i]])}`),
  ]);
}

function clipped(text, length) { return text.length > length ? text.slice(0, length - 1).trimEnd() + "…" : text; }

function countStrip(counts, word, names, x, top, room, left) {
  const most = Math.max(...counts, 1), wide = Math.max(Math.min(room / counts.length * .62, 30), 1), peak = counts.indexOf(most);
  return [
    counts.map((n, i) => n ? s("rect", {class: "strip", x: x(i) - wide / 2, y: top + 22 - Math.max(22 * n / most, 1), width: wide, height: Math.max(22 * n / most, 1)}) : []),
    s("text", {class: "small", x: left, y: top + 38}, `${word}; most: ${count(most)} in ${ofBin(names[peak])}`),
  ];
}

// A line that snaps to spans: with the pointer, and with Left and Right.
function crosshair(svg, x, spans, top, bottom, choose) {
  const line = s("line", {class: "cross", y1: top, y2: bottom, visibility: "hidden"});
  let at = -1;
  const move = to => {
    at = Math.max(0, Math.min(spans - 1, to));
    line.setAttribute("x1", x(at));
    line.setAttribute("x2", x(at));
    line.setAttribute("visibility", "visible");
    choose(at);
  };
  const leave = () => { at = -1; line.setAttribute("visibility", "hidden"); choose(-1); };
  svg.append(line);
  svg.addEventListener("pointermove", event => {
    const place = event.clientX - svg.getBoundingClientRect().left;
    let best = 0;
    for (let i = 1; i < spans; i++) if (Math.abs(x(i) - place) < Math.abs(x(best) - place)) best = i;
    move(best);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("keydown", event => {
    if (event.key === "ArrowRight") move(at + 1);
    else if (event.key === "ArrowLeft") move(at < 0 ? spans - 1 : at - 1);
    else if (event.key === "Escape" && at >= 0) leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// A small multiple: one blue line on the scale of all.
function smallChart(width, values, top, names, slot, withScale, label) {
  const height = 104, bottom = 84, right = withScale ? 34 : 8, x = linear(0, Math.max(names.length - 1, 1), 2, width - right), all = steps(top, 3);
  const y = linear(0, top * 1.02, bottom, 8), peak = largest(values), years = labelled(names, 3);
  const kind = slot == null ? "curve" : "coloured " + slotClass(slot);
  return s("svg", {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label}, innards([
    all.slice(1).map(value => s("line", {class: "grid", x1: 0, x2: width - right, y1: y(value), y2: y(value)})),
    withScale ? all.slice(1).map(value => s("text", {class: "small", x: width, y: y(value) + 4, "text-anchor": "end"}, stepLabel(value, true))) : [],
    s("line", {class: "zero", x1: 0, x2: width - right, y1: bottom + .5, y2: bottom + .5}),
    s("path", {class: kind, d: pathOf(values, x, y)}),
    peak < 0 ? [] : s("circle", {class: slot == null ? "dot" : "coloured-dot " + slotClass(slot), cx: x(peak), cy: y(values[peak]), r: 3}),
    years.map(i => s("text", {class: "small", x: x(i), y: bottom + 15, "text-anchor": x(i) < 14 ? "start" : x(i) > width - right - 14 ? "end" : "middle"}, names[i].replace(/^(\d{3}0)s$/, "$1")))]));
}
