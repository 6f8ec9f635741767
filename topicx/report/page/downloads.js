// Under every picture: its table, CSV and SVG.
function save(name, type, text) {
  const link = h("a", {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// A figure: what draws it at a width, and the table that it shows.
function figure({name, title, label = title, draw, table, note, extra}) {
  const readout = h("p", {class: "readout", "aria-live": "polite"}), holder = drawn(width => draw(width, text => { readout.textContent = text; }));
  const region = h("div", {class: "figure-table", hidden: true, tabindex: "0", role: "region", "aria-label": label + ", as a table"});
  const fill = () => { if (!region.firstChild) region.append(dataTable(title, table().columns, table().rows)); };
  const toggle = button("Table", () => {
    fill();
    region.hidden = !region.hidden;
    toggle.setAttribute("aria-expanded", String(!region.hidden));
  }, {"aria-expanded": "false", "aria-label": `Table of ${label}`});
  region.fill = fill;
  const csv = button("CSV", () => save(name + ".csv", "text/csv", csvOf([table().columns.map(one => one.name), ...table().rows.map(row => row.map(plainCell))])), {"aria-label": `CSV of ${label}`});
  const svg = button("SVG", () => saveSvg(holder, name, title), {"aria-label": `SVG of ${label}`});
  return h("figure", {"aria-label": label}, holder, readout, h("div", {class: "figure-foot tools"}, note ? h("span", {class: "note"}, note) : null, toggle, csv, holder.querySelector("canvas") ? null : svg, extra), region);
}

function plainCell(cell) { return cell instanceof Node ? cell.textContent : cell; }

function csvButton(name, columns, rows) {
  return button("CSV", () => save(name + ".csv", "text/csv", csvOf([columns, ...rows()])));
}

// The picture alone, with its colours, its title and where it is from.
const COPIED = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "font-family", "font-size", "font-weight", "text-anchor", "visibility"];
function saveSvg(holder, name, title) {
  const original = holder.querySelector("svg");
  if (!original) return;
  const copy = original.cloneNode(true), from = original.querySelectorAll("*"), to = copy.querySelectorAll("*");
  document.documentElement.classList.add("light");  // a picture that leaves the page is on white paper
  from.forEach((one, i) => {
    const style = getComputedStyle(one);
    for (const key of COPIED) to[i].setAttribute(key, style.getPropertyValue(key));
  });
  const width = +original.getAttribute("width"), height = +original.getAttribute("height"), paper = getComputedStyle(document.body), ink = paper.color;
  const ground = getComputedStyle(document.documentElement).backgroundColor;
  copy.setAttribute("viewBox", `0 -34 ${width} ${height + 58}`);
  copy.setAttribute("height", height + 58);
  copy.setAttribute("xmlns", SVG);
  copy.prepend(s("rect", {x: 0, y: -34, width, height: height + 58, fill: ground}));
  copy.append(s("text", {x: 0, y: -14, fill: ink, "font-family": "serif", "font-size": 15}, clipped(title, Math.floor(width / 8))),
    s("text", {x: 0, y: height + 18, fill: ink, "font-family": "sans-serif", "font-size": 11}, `${facts.title}. Made with topicx; model ${facts.digest.slice(0, 12)}`));
  document.documentElement.classList.remove("light");
  save(name + ".svg", "image/svg+xml", new XMLSerializer().serializeToString(copy));
}
