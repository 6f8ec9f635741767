// Find: topics, words, texts, in three groups; Enter opens the first, a number opens that topic.
let findTimer;

function makeFind() {
  const results = h("div", {id: "found", hidden: true});
  const field = h("input", {type: "search", placeholder: innerWidth < 761 ? "Find" : "Find a word, topic or text", "aria-label": "Find a word, topic or text", "aria-controls": "found", autocomplete: "off", spellcheck: "false",
    oninput: () => { clearTimeout(findTimer); findTimer = setTimeout(() => showFound(field.value), 80); }, onkeydown: event => findKeys(event, field, results)});
  const holder = document.getElementById("find");
  holder.setAttribute("role", "search");
  holder.append(field, h("kbd", {"aria-hidden": "true"}, "/"), results);
  holder.addEventListener("focusout", () => setTimeout(() => { if (!holder.contains(document.activeElement)) results.hidden = true; }));
}

async function showFound(text) {
  const wanted = text.trim().toLowerCase(), results = document.getElementById("found");
  if (!wanted) { results.hidden = true; return; }
  const groups = [["Topics", foundTopics(wanted)], ["Words", foundWords(wanted)]];
  if (head.documents) groups.push([cap(facts.unit[1]), await foundDocuments(wanted)]);
  if (document.querySelector("#find input").value.trim().toLowerCase() !== wanted) return;
  const any = groups.some(([, links]) => links.length);
  results.replaceChildren(...groups.filter(([, links]) => links.length).map(([name, links]) => h("section", {}, h("h2", {}, name), links)), any ? "" : h("h2", {}, "Nothing found"));
  results.querySelector("a")?.classList.add("on");
  results.hidden = false;
  say(any ? `${results.querySelectorAll("a").length} found` : "Nothing found");
}

function foundTopics(wanted) {
  const all = [...Array(facts.topics).keys()], exact = all.filter(k => String(k) === wanted);
  const some = all.filter(k => String(k) !== wanted && (called(k).toLowerCase().includes(wanted) || facts.top[k].some(word => word.toLowerCase().startsWith(wanted))));
  const first = k => givenName(k).toLowerCase().includes(wanted);
  return [...exact, ...some.sort((a, b) => first(b) - first(a) || facts.share[b] - facts.share[a])].slice(0, 6).map(k => h("a", {href: topicAddress(k)}, `${k} `, h("bdi", {}, called(k)), h("span", {class: "note"}, "  " + facts.top[k].slice(0, 5).join(" "))));
}

function foundWords(wanted) {
  const found = [];
  words.names.all().forEach((word, i) => { if (word.toLowerCase().startsWith(wanted)) found.push(i); });
  return found.sort((a, b) => (words.names.at(b).length === wanted.length) - (words.names.at(a).length === wanted.length) || words.uses[b] - words.uses[a]).slice(0, 6)
    .map(i => h("a", {href: address(["word", words.names.at(i)])}, h("bdi", {}, words.names.at(i)), h("span", {class: "note"}, `  ${count(words.uses[i])} uses`)));
}

async function foundDocuments(wanted) {
  const known = await readDocuments(), found = [];
  for (let d = 0; d < known.length && found.length < 6; d++) if (known.title(d).toLowerCase().includes(wanted) || known.ids.at(d).toLowerCase().includes(wanted)) found.push(d);
  const links = found.map(d => h("a", {href: address(["document", known.ids.at(d)])}, h("bdi", {}, known.title(d)), h("span", {class: "note"}, "  " + known.ids.at(d))));
  if (head.blocks) links.push(h("a", {href: address(["documents"], {q: wanted})}, `${cap(facts.unit[1])} that say “${wanted}” →`));
  else if (links.length === 6) links.push(h("a", {href: address(["documents"], {q: wanted})}, `All with “${wanted}” →`));
  return links;
}

function findKeys(event, field, results) {
  const links = [...results.querySelectorAll("a")], at = links.findIndex(one => one.classList.contains("on"));
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const next = links[(at + (event.key === "ArrowDown" ? 1 : links.length - 1)) % links.length];
    links[at]?.classList.remove("on");
    next?.classList.add("on");
    next?.scrollIntoView({block: "nearest"});
    if (next) say(next.textContent);
    event.preventDefault();
  } else if (event.key === "Enter") {
    clearTimeout(findTimer);
    showFound(field.value).then(() => {
      const link = results.querySelector("a.on");
      if (!link) return;
      field.value = "";
      results.hidden = true;
      location.hash = link.getAttribute("href");
    });
  } else if (event.key === "Escape") {
    results.hidden = true;
    field.value = "";
    document.querySelector("main h1:not([hidden])")?.focus();
  }
}
