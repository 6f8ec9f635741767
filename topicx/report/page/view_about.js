// About: how it was made, what was left out, what was changed by hand.
const CODE_ROWS = ["Command", "Digest of the model", "Digest of the corpus", "Digest of the state"];

function viewAbout(root) {
  const title = heading("How this was made");
  const rows = [...facts.about, ["Changed by hand", changedByHand()], ["Network", "None. The file asks for nothing and sends nothing."]];
  add(root, title, facts.about_text ? h("p", {class: "note-text", dir: "auto"}, facts.about_text) : null, h("section", {class: "block"}, h("table", {class: "said lists"}, h("caption", {class: "hidden"}, "How this was made"), h("tbody", {}, rows.map(([name, value]) => h("tr", {}, h("th", {scope: "row"}, name), h("td", {class: CODE_ROWS.includes(name) ? "mono" : null}, value)))))),
    editSection(), h("section", {class: "block"}, h("h2", {}, "Keys"), keyTable(), letterSwitch()));
  return {title: "About", heading: title};
}

function changedByHand() {
  const all = [...Array(facts.topics).keys()], n = all.filter(named).length, hidden = all.filter(away);
  if (!n && !hidden.length) return "Nothing: no topic has a name, none is hidden.";
  return `${n} topic${n === 1 ? "" : "s"} named` + (hidden.length ? `, ${hidden.length} hidden (${hidden.slice(0, 20).join(", ")})` : "") + ". Shares of the others do not change when a topic is hidden.";
}

function viewMissing(root, text) {
  const title = heading("Not in this report");
  add(root, title, h("p", {class: "reading block"}, text), h("p", {class: "reading"}, h("a", {href: "#/"}, "All topics")));
  return {title: "Not in this report", heading: title};
}
