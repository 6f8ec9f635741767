// What screen readers and keyboards need beyond the theme: levels of headings, names of regions, code that scrolls.
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll("p.caption[role=heading]").forEach(function (one) { one.setAttribute("aria-level", "2"); });
  document.querySelectorAll("aside.sidebar-drawer").forEach(function (one) { one.setAttribute("aria-label", "All pages"); });
  document.querySelectorAll("aside.toc-drawer").forEach(function (one) { one.setAttribute("aria-label", "On this page"); });
  document.querySelectorAll("div.highlight pre, div.table-wrapper").forEach(function (one) { one.tabIndex = 0; });
  var article = document.querySelector("#furo-main-content");
  if (article && !document.querySelector("h1")) {  // the page of search results
    var title = document.createElement("h1");
    title.textContent = document.title.split(" - ")[0];
    article.prepend(title);
  }
});
