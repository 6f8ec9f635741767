// Names, notes, hiding: in this window until they are saved as a file that topicx reads.
function editTools(k) {
  return h("span", {class: "tools"}, button(named(k) ? "Rename" : "Name", () => renameField(k), {id: "rename", "aria-label": `${named(k) ? "Rename" : "Name"} this topic`}), button(away(k) ? "Show" : "Hide", () => change("hidden", k, !away(k)), {id: "hide", "aria-label": `${away(k) ? "Show" : "Hide"} this topic`}), button("Note", () => noteField(k), {id: "note", "aria-label": "Note on this topic"}));
}

function change(what, k, value) {
  const before = what === "names" ? facts.names[k] : what === "notes" ? facts.notes[k] || "" : facts.hidden.includes(k);
  if (value === before) edits[what].delete(k);
  else edits[what].set(k, value);
  foot();
  render();
}

function editor(label, field, keep) {
  const close = () => { form.remove(); document.querySelector("#view h1")?.focus(); };
  const form = h("form", {class: "chips", onsubmit: event => { event.preventDefault(); keep(field.value); }, onkeydown: event => { if (event.key === "Escape") { event.stopPropagation(); close(); } }},
    h("label", {}, h("span", {class: "hidden"}, label), field), h("button", {type: "submit"}, "Keep"), button("Cancel", close));
  document.querySelectorAll("#view form.editing").forEach(one => one.remove());
  form.classList.add("editing");
  document.querySelector("#view .meta").after(form);
  field.focus();
}

function renameField(k) {
  const field = h("input", {class: "rename", value: givenName(k), maxlength: 200, dir: "auto", placeholder: facts.top[k].slice(0, 3).join(" ")});
  editor(`Name of topic ${k}`, field, value => {
    const name = value.trim().replace(/\s+/g, " "), taken = [...Array(facts.topics).keys()].find(j => j !== k && name && givenName(j) === name);
    if (taken != null || /^topic_\d+$/.test(name)) {
      field.setCustomValidity(taken != null ? `Topic ${taken} has this name` : "That is what a topic without a name is called");
      field.reportValidity();
      field.oninput = () => field.setCustomValidity("");
    } else change("names", k, name);
  });
}

function noteField(k) {
  const field = h("textarea", {maxlength: 4000, dir: "auto"});
  field.value = noted(k);
  editor(`Note on topic ${k}`, field, value => change("notes", k, value.trim()));
}

function editCount() { return edits.names.size + edits.notes.size + edits.hidden.size; }

function foot() {
  const n = editCount();
  document.getElementById("foot").replaceChildren(n ? h("p", {class: "changes tools"}, `${n} change${n > 1 ? "s are" : " is"} only in this window.`, button("Save names.json", saveEdits)) : "");
  if (n) say(`${n} changes are only in this window`);
}

// All names, notes and hidden topics as they are now: the file needs no other.
function saveEdits() {
  const rows = [...Array(facts.topics).keys()].map(k => {
    const row = {topic: k};
    if (named(k) || edits.names.has(k)) row.name = givenName(k);
    if (noted(k) || edits.notes.has(k)) row.note = noted(k);
    if (away(k) || edits.hidden.has(k)) row.hidden = away(k);
    return row;
  }).filter(row => Object.keys(row).length > 1);
  save("names.json", "application/json", JSON.stringify({format: "topicx-names", version: 1, topics: facts.topics, model: facts.digest, changes: rows}, null, 1) + "\n");
}

function editSection() {
  return h("section", {class: "block"}, h("h2", {}, "Names and notes"), h("p", {class: "reading"}, "Name, hide and annotate topics on their pages. ", button("Save names.json", saveEdits), " writes a file; ",
    h("code", {class: "mono"}, "topicx topics MODEL --edits names.json -o NEW"), " makes a model with them, and ", h("code", {class: "mono"}, "topicx report --edits names.json"), " a report."));
}

addEventListener("beforeunload", event => { if (editCount()) event.preventDefault(); });
