/* Tables of the benchmark pages: a click on a column head sorts the rows by it. */
document.addEventListener("DOMContentLoaded", () => {
  if (!/\/benchmarks_[^/]*$/.test(location.pathname)) return;
  const number = (text) => parseFloat(text.replace("−", "-").replace(/,/g, ""));
  for (const head of document.querySelectorAll("article table thead th")) {
    head.tabIndex = 0;
    head.style.cursor = "pointer";
    head.title = "Sort by this column";
    const sort = () => {
      const body = head.closest("table").tBodies[0], column = head.cellIndex;
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      const rows = [...body.rows].map((row) => [row.cells[column]?.textContent.trim() ?? "", row]);
      const numeric = rows.some(([text]) => !Number.isNaN(number(text)));
      rows.sort(([a], [b]) => direction * (numeric
        ? (Number.isNaN(number(a)) ? Infinity : number(a)) - (Number.isNaN(number(b)) ? Infinity : number(b))
        : a.localeCompare(b)));
      for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", direction === 1 ? "ascending" : "descending");
      body.append(...rows.map(([, row]) => row));
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(); });
  }
});
