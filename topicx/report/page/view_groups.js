// Topics by groups: two at a time, of the two with most documents at first.
function viewOver(root, [column], query) {
  const by = facts.by.find(one => one.column === column);
  if (!by) return viewMissing(root, `The report has nothing by ${column}; --by ${column} adds it.`);
  return by.ordered && by.timed.length > 1 ? viewTime(root, by, query) : viewGroups(root, by, query);
}

function viewGroups(root, by, query) {
  const known = by.names.map((_, g) => g).filter(g => by.documents[g] > 0), order = [...known].sort((a, b) => by.documents[b] - by.documents[a] || a - b);
  const at = (name, other) => { const g = by.raw.indexOf(query[name] ?? "\0"); return g >= 0 ? g : other; };
  const a = at("a", order[0]), b = at("b", order.find(g => g !== a)), third = at("c", -1), groups = [a, b, third].filter((g, i, all) => g >= 0 && all.indexOf(g) === i);
  const title = heading(groupsHeadline(by, a, b)), level = Math.round(100 * by.share);
  add(root, title, h("p", {class: "sub"}, sharesNote(by, `bars are ${level}% intervals`), by.way === "predicted" ? null : overlapWarning()));
  if (groups.length < 2) {
    add(root, h("p", {class: "reading block"}, "There is one group alone, so nothing can be compared."));
    return {title: `By ${by.label}`, heading: title};
  }
  add(root, groupChips(by, groups, known, query), groupFigure(by, groups));
  if (facts.effects.length) add(root, h("section", {class: "block"}, h("h2", {}, "Effects"), h("p", {class: "note"}, "From the regression that was given with the report, which takes other columns into account; the largest first."),
    h("div", {class: "wide"}, effectsOverview(by))));
  return {title: `By ${by.label}`, heading: title};
}

function shareOf(by, g, k) {
  const i = g * facts.topics + k;
  return {mean: by.mean[i], low: by.low[i], high: by.high[i]};
}

// What shares are, and how they were found.
function sharesNote(by, intervals) {
  const each = by.ordered ? singularKind(by) : by.label;
  if (by.way === "predicted") return `What the regression predicts for each ${each}, with all else that it knows held as it is; ${by.ordered ? "bands" : "bars"} are its intervals.`;
  const told = `Mean share of each ${each}’s ${facts.unit[1]}; ${intervals}.`;
  return by.note ? `${told} ${by.note}` : told;
}

// The largest difference each way whose intervals do not touch.
function groupsHeadline(by, a, b) {
  if (b == null) return `Topics by ${by.label}`;
  let up = null, down = null;
  for (const k of shownTopics()) {
    const one = shareOf(by, a, k), other = shareOf(by, b, k), difference = one.mean - other.mean;
    if (one.low > other.high && (!up || difference > up[1])) up = [k, difference, one.mean, other.mean];
    if (other.low > one.high && (!down || -difference > down[1])) down = [k, -difference, other.mean, one.mean];
  }
  const told = (name, found) => [h("span", {dir: "auto"}, name), found.lead, topicLink(found.of[0], "in-text"), `, ${percent(found.of[2])} against ${percent(found.of[3])}`];
  if (!up && !down) return ["No topic differs between ", h("bdi", {}, by.names[a]), " and ", h("bdi", {}, by.names[b]), " by more than its interval"];
  if (up && down) return [told(by.names[a], {lead: " has more of ", of: up}), "; ", told(by.names[b], {lead: " of ", of: down})];
  return up ? told(by.names[a], {lead: " has more of ", of: up}) : told(by.names[b], {lead: " has more of ", of: down});
}

function overlapWarning() {
  const time = timeView();
  return time ? [" Groups of different times differ because their times do: compare within times under ", h("a", {href: address(["over", time.column])}, "Over time"), " before you explain."] : null;
}

function groupChips(by, groups, known, query) {
  const pick = (name, label, chosen, none) => h("label", {class: "chip"}, h("span", {class: "hidden"}, label), chosen >= 0 ? pointSample(groups.indexOf(chosen)) : null,
    put(h("select", {onchange: event => go(["over", by.column], {...query, [name]: event.target.value || null}, true)}), {}, [none ? h("option", {value: ""}, none) : null, ...known.map(g => h("option", {value: by.raw[g], selected: g === chosen}, `${clipped(by.names[g], 40)} · ${count(by.documents[g])}`))].filter(Boolean)));
  return h("div", {class: "chips"}, h("span", {}, "Compare"), pick("a", "First group", groups[0]), h("span", {}, "with"), pick("b", "Second group", groups[1]), known.length > 2 ? pick("c", "Third group", groups[2] ?? -1, "and no third") : null);
}

function groupFigure(by, groups) {
  const differences = shownTopics().map(k => ({topic: k, values: groups.map(g => shareOf(by, g, k))})).map(row => ({...row, difference: row.values[0].mean - row.values[1].mean})).filter(row => Number.isFinite(row.difference));
  const ups = differences.filter(row => row.difference > 0).sort((a, b) => b.difference - a.difference), downs = differences.filter(row => row.difference <= 0).sort((a, b) => a.difference - b.difference);
  const rows = [...ups.slice(0, 9).map(row => ({...row, side: 1})), ...downs.slice(0, 9).reverse().map(row => ({...row, side: 2}))], names = groups.map(g => by.names[g]), left = differences.length - rows.length;
  const columns = [{name: "topic"}, {name: "name"}, ...by.names.flatMap(name => [{name, figure: true, show: percent}, {name: `${name}, low`, figure: true, show: percent}, {name: `${name}, high`, figure: true, show: percent}])];
  const table = () => ({columns, rows: shownTopics().map(k => [String(k), called(k), ...by.names.flatMap((_, g) => Object.values(shareOf(by, g, k)))])});
  return h("section", {}, h("h2", {}, "More with ", h("bdi", {}, names[0]), ", and, below, more with ", h("bdi", {}, names[1])),
    h("p", {class: "note"}, left > 0 ? `The nine largest differences each way; ${left} topics in between are in the table.` : "All topics, by their difference."),
    figure({name: `by-${by.column}`, title: `Topics by ${by.label}: ${names.join(", ")}`, draw: width => intervalChart(width, {rows, groups: names, unitLabel: "first : second", label: `Shares of topics in ${listed(names)}`, describe: "Points are mean shares, bars intervals; the table has all topics and groups."}), table}));
}

// Coefficients of terms with this column; if there are none, all but the intercept.
function effectsOverview(by) {
  const all = facts.effects.filter(row => row.term !== "Intercept"), own = all.filter(row => row.term.includes(by.column));
  const rows = [...(own.length ? own : all)].sort((a, b) => Math.abs(b.statistic) - Math.abs(a.statistic)).slice(0, 40), number = value => signed(value, 4);
  const columns = [{name: "topic"}, {name: "term"}, {name: "estimate", figure: true, show: number}, {name: "interval", figure: true}, {name: "p, adjusted", figure: true, show: value => value < .001 ? "<0.001" : value.toFixed(3)}];
  return dataTable("Effects", columns, rows.map(row => [topicLink(row.topic), row.term, row.estimate, `${number(row.conf_low)} to ${number(row.conf_high)}`, row.p_adjusted ?? row.p_value]), {class: "relation lists"});
}
