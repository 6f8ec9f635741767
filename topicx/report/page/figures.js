// Numbers as people read them.
const NARROW = "\u202f";

function percent(share) {
  const value = 100 * share;
  if (!(value >= 0)) return "–";
  if (value >= 9.95) return value.toFixed(0) + "%";
  if (value > 0 && value < .05) return "<0.1%";
  return value ? value.toFixed(1) + "%" : "0%";
}

function count(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, NARROW);
}

function signed(number, digits) {
  return number.toFixed(digits).replace("-", "−");
}

function interval(low, high) {
  return low >= 0 && high >= 0 ? ` (${percent(low).replace("%", "")} to ${percent(high).replace("%", "")})` : "";
}

function unit(number) { return facts.unit[number === 1 ? 0 : 1]; }

function ofBin(name) { return /^\d{3}0s$/.test(name) ? "the " + name : name; }

function listed(items) {
  return items.length < 2 ? items.join("") : items.slice(0, -1).join(", ") + " and " + items[items.length - 1];
}

// Steps of 1, 2 or 5 times a power of ten, from 0 to below the largest value: about so many.
function steps(most, about = 4) {
  const rough = most / (about + 1.2), power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].map(digit => digit * power).find(one => one >= rough * .999), found = [];
  for (let i = 0; i * step <= most * 1.0001; i++) found.push(+(i * step).toPrecision(12));
  return found;
}

function stepLabel(share, last) {
  const value = +(100 * share).toPrecision(6);
  return last ? value + "%" : String(value);
}

function csvOf(rows) {
  return rows.map(row => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

// A cell that a spreadsheet would take for a formula begins with an apostrophe.
function csvCell(value) {
  let text = value == null || Number.isNaN(value) ? "" : String(value);
  if (typeof value !== "number" && /^[=+\-@\t\r]/.test(text)) text = "'" + text;
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}
