// SPDX-License-Identifier: Apache-2.0
"use strict";
// Tables sort by their heads, and the large one can be filtered. Without this the page shows the same.
document.querySelectorAll("table.sort").forEach(function (table) {
  var heads = table.tHead ? Array.from(table.tHead.rows[0].cells) : [];
  heads.forEach(function (head, column) {
    if (head.textContent === "") return;
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.textContent = "";
    head.appendChild(button);
    button.addEventListener("click", function () {
      var up = head.getAttribute("aria-sort") !== "ascending";
      heads.forEach(function (other) { other.removeAttribute("aria-sort"); });
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      var key = function (row) {
        var cell = row.cells[column];
        var number = parseFloat(cell.dataset.v !== undefined ? cell.dataset.v : cell.textContent);
        return head.classList.contains("n") ? number : cell.textContent.trim();
      };
      var rows = Array.from(table.tBodies[0].rows).map(function (row) { return [key(row), row]; });
      rows.sort(function (a, b) {
        if (typeof a[0] === "string") return (up ? 1 : -1) * a[0].localeCompare(b[0], "en", { numeric: true });
        if (isNaN(a[0]) || isNaN(b[0])) return isNaN(a[0]) - isNaN(b[0]);
        return (up ? 1 : -1) * (a[0] - b[0]);
      });
      rows.forEach(function (pair) { table.tBodies[0].appendChild(pair[1]); });
    });
  });
});
document.querySelectorAll(".filter").forEach(function (box) {
  var input = box.querySelector("input");
  var table = box.parentNode.querySelector("table");
  box.hidden = false;
  input.addEventListener("input", function () {
    var words = input.value.toLowerCase().split(/\s+/);
    Array.from(table.tBodies[0].rows).forEach(function (row) {
      var text = row.textContent.toLowerCase();
      row.hidden = !words.every(function (word) { return text.indexOf(word) >= 0; });
    });
  });
});
