"use strict";
// Makes a table sortable by the headings of its columns.
const sortable = (() => {
  // The number in a cell: the first one in "3.18 ± 0.15". NaN sorts last.
  const numberOf = (text) => {
    const match = text.replaceAll("\u2212", "-").match(/^[^\d+-]*([+-]?\d+(\.\d+)?(e[+-]?\d+)?)/i);
    return match ? Number(match[1]) : NaN;
  };
  const order = (numbers, falling) => (a, b) => {
    const sign = falling ? -1 : 1;
    if (!numbers) return sign * a.text.localeCompare(b.text, "en", { numeric: true });
    if (Number.isNaN(a.value) || Number.isNaN(b.value)) return Number.isNaN(a.value) - Number.isNaN(b.value);
    return sign * (a.value - b.value);
  };

  return (table) => {
    const body = table.tBodies[0];
    if (!body || body.rows.length < 2) return;
    [...table.tHead.rows[0].cells].forEach((head, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(head.textContent);
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const falling = head.getAttribute("aria-sort") === "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => {
          const text = row.cells[place].textContent;
          return { row, text, value: numberOf(text) };
        });
        rows.sort(order(head.classList.contains("number"), falling));
        body.append(...rows.map((one) => one.row));
      });
    });
  };
})();
