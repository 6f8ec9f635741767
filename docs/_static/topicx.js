// What screen readers and keyboards need beyond the theme: levels of headings, names of regions, code that scrolls.
document.addEventListener("DOMContentLoaded", function () {
  document.querySelectorAll("p.caption[role=heading]").forEach(function (one) { one.setAttribute("aria-level", "2"); });
  document.querySelectorAll("aside.sidebar-drawer").forEach(function (one) { one.setAttribute("aria-label", "All pages"); });
  document.querySelectorAll("aside.toc-drawer").forEach(function (one) { one.setAttribute("aria-label", "On this page"); });
  document.querySelectorAll("div.highlight pre, div.table-wrapper").forEach(function (one) { one.tabIndex = 0; });
});
