"use strict";
(() => {
  const root = document.querySelector(".mahalearn");
  const data = JSON.parse(document.getElementById("figure-data").textContent);
  const objects = JSON.parse(document.getElementById("object-data").textContent);
  const make = (tag, text, options = {}) => Object.assign(document.createElement(tag), { textContent: text }, options);

  // Tables: sort by a click on a head, filter by a text.
  const value = (cell) => {
    const stored = cell.dataset.value;
    return stored === undefined ? cell.textContent.trim() : Number(stored);
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

  // Figures: what a mark stands for, by pointing or by the arrow keys.
  const tip = make("div", "", { className: "tip", hidden: true });
  tip.setAttribute("role", "status");
  root.append(tip);
  const text = (cell) => (typeof cell === "number" ? String(Number(cell.toPrecision(4))) : cell);
  const words = (figure, mark) => {
    if (figure.id === "object-map" && objects) return summary(Number(mark.dataset.row));
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
    for (const group of svg.querySelectorAll("[data-rows]")) {
      const rows = group.dataset.rows.split(",");
      const uses = group.querySelectorAll("use");
      if (uses.length === rows.length) uses.forEach((mark, i) => (mark.dataset.row = rows[i]));
      else if (rows.length === 1) group.dataset.row = rows[0];
    }
    let marks = [...svg.querySelectorAll("[data-row]")];
    if (figure.id === "object-map" && objects) marks = explore(figure, svg, marks);
    if (marks.length) {
      let at = -1;
      svg.tabIndex = 0;
      svg.addEventListener("pointermove", (event) => {
        const mark = event.target.closest("[data-row]");
        if (mark) point(figure, mark, event.clientX, event.clientY);
        else leave();
      });
      svg.addEventListener("pointerleave", leave);
      svg.addEventListener("blur", leave);
      svg.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
        if (event.key === "Escape") leave();
        if (event.key === "Enter" && here && figure.show) figure.show(Number(here.dataset.row));
        if (!step) return;
        event.preventDefault();
        do at = (at + step + marks.length) % marks.length;
        while (marks[at].classList.contains("dim"));
        const box = marks[at].getBoundingClientRect();
        point(figure, marks[at], box.right, box.bottom);
      });
    }
    save(figure, svg);
  }

  // The map of the objects: what is known of one, and the objects of a cell of the confusion matrix.
  function summary(i) {
    const name = (k) => objects.classes[k];
    const taken = [...new Set(objects.predictions[i])].map(name).join(" or ");
    const lines = [objects.names[i], `class: ${name(objects.class[i])}`, `predicted: ${taken}`];
    lines.push(objects.probabilities[i].map(([k, p]) => `${name(k)} ${p} %`).join(", "));
    lines.push(`nearest: ${objects.nearest[i].map((k) => `${objects.names[k]} (${name(objects.class[k])})`).join(", ")}`);
    if (objects.p_none[i] <= 0.05) lines.push(`unusual: p = ${objects.p_none[i]}`);
    return lines.join("\n");
  }
  function explore(figure, svg, marks) {
    const section = figure.closest("section");
    objects.names = data[figure.id].rows.map((row) => row[0]);
    const byRow = new Map(marks.map((mark) => [Number(mark.dataset.row), mark]));
    const ordered = [...byRow.keys()].sort((a, b) => a - b).map((row) => byRow.get(row));
    const panel = make("div", "", { className: "object", tabIndex: -1 });
    panel.setAttribute("role", "region");
    panel.setAttribute("aria-label", "Object");
    panel.setAttribute("aria-live", "polite");
    const hint = "Click an object for its explanation, or a cell of the confusion matrix for its objects. With the keyboard: focus the map, arrow keys, Enter.";
    panel.append(make("p", hint));
    const name = (k) => objects.classes[k];
    const open = (i) => {
      const button = make("button", objects.names[i], { type: "button" });
      button.addEventListener("click", () => show(i));
      return button;
    };
    const list = (title, rows) => {
      const ul = make("ul", "");
      for (const cells of rows) {
        const li = make("li", "");
        li.append(...cells);
        ul.append(li);
      }
      return rows.length ? [make("p", title), ul] : [];
    };
    let chosen = null;
    const show = (i) => {
      if (chosen) chosen.classList.remove("chosen");
      chosen = byRow.get(i);
      if (chosen) chosen.classList.add("chosen");
      const truth = name(objects.class[i]);
      const times = new Map();
      for (const k of objects.predictions[i]) times.set(k, (times.get(k) || 0) + 1);
      const said = [...times].map(([k, n]) => `${name(k)} (${n} of ${objects.predictions[i].length})`).join(", ");
      panel.replaceChildren(make("h3", objects.names[i]), make("p", `Class ${truth}, predicted as ${said}.`));
      if (objects.p_none[i] <= 0.05) panel.append(make("p", `Unusual: far from all classes (p = ${objects.p_none[i]}).`));
      panel.append(...list("Probabilities", objects.probabilities[i].map(([k, p]) => {
        const meter = make("meter", "", { min: 0, max: 100, value: p });
        meter.setAttribute("aria-label", `probability of ${name(k)}`);
        return [make("span", name(k)), meter, make("span", `${p} %`)];
      })));
      panel.append(...list("Columns that count most (change of the log-probability of the predicted class)",
        objects.reasons[i].map(([column, cell, change]) =>
          [make("span", `${objects.columns[column]} = ${cell}`), make("span", `${change > 0 ? "for" : "against"} ${Math.abs(change)}`)])));
      panel.append(...list("Nearest objects", objects.nearest[i].map((k, j) =>
        [open(k), make("span", name(objects.class[k])), make("span", `distance ${objects.gaps[i][j]}`)])));
    };
    figure.show = show;
    const buttons = [];
    const choose = (pair, button) => {
      const again = button === null || button.getAttribute("aria-pressed") === "true";
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(other === button && !again)));
      svg.querySelectorAll(".halo").forEach((halo) => halo.classList.toggle("dim", !again));
      const [truth, taken] = pair;
      const inside = (i) => objects.class[i] === truth && objects.predictions[i].includes(taken);
      byRow.forEach((mark, i) => mark.classList.toggle("dim", !again && !inside(i)));
      if (again) {
        panel.replaceChildren(make("p", hint));
        return;
      }
      const rows = [...byRow.keys()].filter(inside).sort((a, b) => a - b);
      const all = make("button", "Show all", { type: "button" });
      all.addEventListener("click", () => choose(pair, null));
      panel.replaceChildren(make("h3", `${name(truth)} predicted as ${name(taken)}`),
        make("p", `${rows.length} ${rows.length === 1 ? "object" : "objects"} on the map`), all,
        ...list("", rows.slice(0, 200).map((i) => {
          const p = objects.probabilities[i].find(([k]) => k === taken);
          return [open(i), make("span", p ? `${p[1]} %` : "")];
        })));
    };
    for (const cell of section.querySelectorAll("td[data-pair]")) {
      const pair = cell.dataset.pair.split(",").map(Number);
      const button = make("button", "", { type: "button" });
      button.append(...cell.childNodes);
      button.setAttribute("aria-pressed", "false");
      button.setAttribute("aria-label", `Show objects of ${name(pair[0])} predicted as ${name(pair[1])}`);
      button.addEventListener("click", () => choose(pair, button));
      cell.replaceChildren(button);
      buttons.push(button);
    }
    const find = make("input", "", { type: "search", size: 16 });
    const label = make("label", "Find an object ");
    label.append(find);
    const tools = make("div", "", { className: "tools" });
    tools.append(label);
    find.addEventListener("change", () => {
      const wanted = find.value.trim().toLowerCase();
      const i = objects.names.findIndex((one) => one.toLowerCase() === wanted);
      const near = i < 0 ? objects.names.findIndex((one) => one.toLowerCase().includes(wanted)) : i;
      if (wanted && near >= 0) show(near);
    });
    const beside = section.querySelector(".group") || figure;
    beside.append(tools, panel);
    svg.classList.add("picking");
    svg.addEventListener("click", (event) => {
      const mark = event.target.closest("[data-row]");
      if (mark && !mark.classList.contains("dim")) show(Number(mark.dataset.row));
    });
    return ordered;
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
      const cell = (value) => {
        const plain = typeof value === "string" && /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : String(value);
        return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
      };
      file([columns, ...rows].map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n", "text/csv", "csv");
    });
    figure.append(tools);
  }
})();
