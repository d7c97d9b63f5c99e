"use strict";
(() => {
  const root = document.querySelector(".mahalearn");
  const data = JSON.parse(document.getElementById("figure-data").textContent);
  for (const table of Object.values(data)) {
    for (const [i, words] of Object.entries(table.texts)) {
      for (const row of table.rows) row[i] = words[row[i]];
    }
  }
  const make = (tag, text, more = {}) => Object.assign(document.createElement(tag), { textContent: text }, more);

  // Tables: sort by a click on a head, filter by a text.
  const value = (cell) => {
    const given = cell.dataset.value;
    return given === undefined ? cell.textContent.trim() : Number(given);
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true });
  for (const table of root.querySelectorAll("table[data-sortable]")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, i) => {
      const button = make("button", head.textContent, { type: "button", title: "Sort by this column" });
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => (up ? 1 : -1) * compare(value(a.cells[i]), value(b.cells[i])));
        table.tBodies[0].append(...rows);
      });
    });
  }
  for (const table of root.querySelectorAll("table[data-filter]")) {
    const label = make("label", "Filter ");
    const input = make("input", "", { type: "search", size: 18 });
    const count = make("span", "");
    count.setAttribute("role", "status");
    label.append(input);
    const tools = make("div", "", { className: "tools" });
    tools.append(label, count);
    table.parentElement.before(tools);
    input.addEventListener("input", () => {
      const wanted = input.value.trim().toLowerCase();
      let shown = 0;
      for (const row of table.tBodies[0].rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        shown += !row.hidden;
      }
      count.textContent = wanted ? `${shown} of ${table.tBodies[0].rows.length} rows` : "";
    });
  }

  // Pairs of classes: one figure at a time.
  for (const choice of root.querySelectorAll(".choice")) {
    const figures = [...choice.querySelectorAll("figure")];
    const label = make("label", `${choice.dataset.label} `);
    const select = make("select", "");
    figures.forEach((figure, i) => select.append(make("option", figure.dataset.label, { value: i })));
    const show = () => figures.forEach((figure, i) => (figure.hidden = i !== Number(select.value)));
    label.append(select);
    const tools = make("div", "", { className: "tools" });
    tools.append(label);
    choice.replaceChildren(tools, ...figures);
    select.addEventListener("change", show);
    show();
  }

  // Figures: what a mark stands for, by pointing or by the arrow keys.
  const tip = make("div", "", { className: "tip", hidden: true });
  tip.setAttribute("role", "status");
  root.append(tip);
  const text = (cell) => (typeof cell === "number" ? String(Number(cell.toPrecision(4))) : cell);
  const words = (figure, mark) => {
    if (mark.dataset.tip !== undefined) return mark.dataset.tip;
    const { columns, rows } = data[figure.id];
    return columns.map((name, i) => [name, text(rows[mark.dataset.row][i])]).filter(([, cell]) => cell !== "")
      .map(([name, cell]) => `${name}: ${cell}`).join("\n");
  };
  let here = null;
  const leave = () => {
    tip.hidden = true;
    if (here) here.classList.remove("here");
    here = null;
  };
  const point = (figure, mark, x, y) => {
    leave();
    here = mark;
    mark.classList.add("here");
    tip.textContent = words(figure, mark);
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - box.width - 8))}px`;
    tip.style.top = `${y + 16 + box.height > innerHeight ? y - box.height - 10 : y + 16}px`;
  };
  for (const figure of root.querySelectorAll("figure")) {
    const svg = figure.querySelector("svg");
    const marks = [...svg.querySelectorAll("[data-row], [data-tip]")];
    if (marks.length) {
      let at = -1;
      svg.tabIndex = 0;
      svg.addEventListener("pointermove", (event) => {
        const mark = event.target.closest("[data-row], [data-tip]");
        if (mark) point(figure, mark, event.clientX, event.clientY);
        else leave();
      });
      svg.addEventListener("pointerleave", leave);
      svg.addEventListener("blur", leave);
      svg.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Escape") leave();
        if (!step) return;
        event.preventDefault();
        at = (at + step + marks.length) % marks.length;
        const box = marks[at].getBoundingClientRect();
        point(figure, marks[at], box.right, box.bottom);
      });
    }
    save(figure, svg);
  }

  // Figures as files: SVG, PNG and the numbers as CSV.
  function save(figure, svg) {
    const tools = make("div", "Save as ", { className: "tools" });
    const offer = (kind, work) => {
      const button = make("button", kind, { type: "button" });
      button.setAttribute("aria-label", `Save ${data[figure.id].title} as ${kind}`);
      button.addEventListener("click", work);
      tools.append(button);
    };
    const file = (content, type, ending) => {
      const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
      const link = make("a", "", { href: url, download: `${figure.id}.${ending}` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 10000);
    };
    const standalone = () => {
      const copy = svg.cloneNode(true);
      copy.querySelectorAll(".here").forEach((mark) => mark.classList.remove("here"));
      copy.removeAttribute("tabindex");
      return new XMLSerializer().serializeToString(copy).replace(/var\(--\w+,\s*(#[0-9a-f]{6})\)/g, "$1");
    };
    offer("SVG", () => file(standalone(), "image/svg+xml", "svg"));
    offer("PNG", () => {
      const url = URL.createObjectURL(new Blob([standalone()], { type: "image/svg+xml" }));
      const image = new Image();
      image.onload = () => {
        const { width, height } = svg.viewBox.baseVal;
        const canvas = make("canvas", "", { width: 2 * width, height: 2 * height });
        canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
        URL.revokeObjectURL(url);
        canvas.toBlob((blob) => file(blob, "image/png", "png"));
      };
      image.src = url;
    });
    offer("CSV", () => {
      const { columns, rows } = data[figure.id];
      // A text that a spreadsheet would take for a formula gets an apostrophe before it.
      const cell = (given) => {
        const plain = typeof given === "string" && /^[=+\-@\t\r\n]/.test(given) ? `'${given}` : String(given);
        return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
      };
      file([columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n", "text/csv", "csv");
    });
    figure.append(tools);
  }
})();
