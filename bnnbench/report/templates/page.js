// Filtering and run pages. Charts are drawn from the numbers in #data.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  const make = (name, attributes = {}, ...children) => {
    const svg = attributes.svg;
    const made = svg ? document.createElementNS(SVG, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) if (key !== "svg") made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const shape = (name, attributes, ...children) => make(name, { svg: true, ...attributes }, ...children);

  // A row is shown if every word occurs in it, in its table's caption or in the heading above.
  const filterable = (input, output, report) => {
    const rows = [];
    let heading = "";
    for (const part of report.querySelectorAll("h2, h3, table, ul.runs")) {
      if (part.tagName === "TABLE") {
        const above = `${heading} ${part.caption ? part.caption.textContent : ""}`;
        for (const row of part.tBodies[0].rows) rows.push([row, `${above} ${row.textContent}`.toLowerCase()]);
      } else if (part.tagName === "UL") {
        for (const item of part.children) rows.push([item, item.textContent.toLowerCase()]);
      } else heading = part.textContent;
    }
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, text] of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      output.textContent = words.length ? `${shown} of ${rows.length} rows` : "";
    };
    input.addEventListener("input", apply);
  };

  // Round tick values of an axis.
  const ticks = (low, high) => {
    const raw = (high - low) / 4, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
    const values = [];
    for (let k = Math.ceil(low / step); k * step <= high; k += 1) values.push(k * step);
    return values;
  };
  const short = (value) => String(Number(value.toPrecision(4)));

  const draw = (chart) => {
    const W = 480, H = 320, left = 62, right = 12, top = 12, bottom = 48;
    const xs = chart.series.flatMap((s) => s.x);
    const ys = chart.series.flatMap((s) => s.y.flatMap((y, i) => (s.error ? [y - s.error[i], y + s.error[i]] : [y])));
    const both = chart.diagonal ? [...xs, ...ys] : null;
    const span = (values) => {
      const low = Math.min(...values), high = Math.max(...values), room = (high - low || Math.abs(high) || 1) * 0.04;
      return [low - room, high + room];
    };
    const [x0, x1] = span(both || xs), [y0, y1] = span(both || ys);
    const px = (x) => left + ((x - x0) / (x1 - x0)) * (W - left - right);
    const py = (y) => H - bottom - ((y - y0) / (y1 - y0)) * (H - top - bottom);
    const at = (v) => v.toFixed(1);
    const svg = shape("svg", { viewBox: `0 0 ${W} ${H}`, class: "chart", role: "img", "aria-label": chart.title });
    svg.append(shape("path", { class: "axis", d: `M${left} ${top}V${H - bottom}H${W - right}` }));
    for (const v of ticks(x0, x1)) svg.append(shape("text", { x: at(px(v)), y: H - bottom + 16, "text-anchor": "middle" }, short(v)));
    for (const v of ticks(y0, y1)) svg.append(shape("text", { x: left - 6, y: at(py(v) + 4), "text-anchor": "end" }, short(v)));
    svg.append(shape("text", { x: (left + W - right) / 2, y: H - 10, "text-anchor": "middle" }, chart.x));
    svg.append(shape("text", { transform: `translate(14 ${(top + H - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, chart.y));
    if (chart.diagonal) svg.append(shape("path", { class: "axis", d: `M${at(px(x0))} ${at(py(x0))}L${at(px(x1))} ${at(py(x1))}` }));
    chart.series.forEach((s, place) => {
      if (s.joined) {
        const line = shape("path", { class: `line${place}`, d: "M" + s.x.map((x, i) => `${at(px(x))} ${at(py(s.y[i]))}`).join("L") });
        line.append(shape("title", {}, s.name));
        svg.append(line);
        return;
      }
      s.x.forEach((x, i) => {
        const text = `${short(x)}: ${short(s.y[i])}${s.error ? ` ± ${short(s.error[i])}` : ""}`;
        if (s.error) svg.append(shape("path", { class: "bar", d: `M${at(px(x))} ${at(py(s.y[i] - s.error[i]))}V${at(py(s.y[i] + s.error[i]))}` }));
        svg.append(shape("circle", { cx: at(px(x)), cy: at(py(s.y[i])), r: 2.5 }, shape("title", {}, text)));
      });
    });
    const names = chart.series.map((s) => s.name).join(", ");
    return make("figure", {}, svg, make("figcaption", {}, `${chart.title} (${names})`));
  };

  // Differences to a baseline that the reader picks; without one, to the best run of each panel.
  const redraw = (table, rows, falling, baseline) => {
    const body = table.tBodies[0], foot = table.tFoot.rows[0].cells[1];
    const own = rows.filter((row) => row[1] === baseline)
      .map(([name, , value, low, high, decided]) => ({ name, value, low, high, decided }));
    if (!own.length) {
      body.replaceChildren(make("tr", {}, make("td", { colspan: 3 }, `not compared with ${baseline}`)));
      foot.replaceChildren();
      return;
    }
    own.push({ name: baseline, value: 0, low: 0, high: 0, decided: true });
    own.sort((a, b) => (falling ? 1 : -1) * (a.value - b.value));
    const middle = (values) => {
      const sorted = [...values].sort((a, b) => a - b), half = (sorted.length - 1) / 2;
      return (sorted[Math.floor(half)] + sorted[Math.ceil(half)]) / 2;
    };
    const reach = 5 * (middle(own.map((one) => Math.abs(one.value))) + middle(own.map((one) => (one.high - one.low) / 2))) || Infinity;
    const ends = [Math.max(Math.min(...own.map((one) => one.low)), -reach), Math.min(Math.max(...own.map((one) => one.high)), reach)];
    const room = 0.05 * (ends[1] - ends[0]) || 1, low = ends[0] - room, high = ends[1] + room;
    const at = (value) => (100 * (Math.min(Math.max(value, low), high) - low)) / (high - low);
    const mark = (kind, style) => {
      const made = make("i", { class: kind });
      Object.assign(made.style, style);
      return made;
    };
    body.replaceChildren(...own.map((one) => {
      const kind = `${one.decided ? "filled" : "open"}${one.value < low ? " below" : one.value > high ? " above" : ""}`;
      const left = at(one.low), width = at(one.high) - left;
      const strip = make("td", { class: "strip" }, mark("centre", { left: `${at(0)}%` }),
        mark(`bar ${kind}`, { left: `${left}%`, width: `${width}%` }), mark(`dot ${kind}`, { left: `${at(one.value)}%` }));
      const text = one.name === baseline ? "0" : withInterval(one.value, one.low, one.high);
      return make("tr", {}, make("th", { scope: "row" }, one.name), strip, make("td", { class: "value" }, text));
    }));
    foot.replaceChildren(...ticks(low, high).map((value) => {
      const made = make("span", {}, short(value));
      made.style.left = `${at(value)}%`;
      return made;
    }));
  };
  // As `with_interval` in notes.py.
  const withInterval = (value, low, high) => {
    const sign = value < 0 ? "" : "+";
    if (!(high - low > 1e-12 * Math.abs(value))) return `${sign}${short(value)}`;
    let decimals = Math.max(0, 1 - Math.floor(Math.log10(Number(((high - low) / 2).toPrecision(2)))));
    while (decimals < 100 && [low, high].some((end) => end && !Number(end.toFixed(decimals)))) decimals += 1;
    const texts = [value, low, high].map((one) => one.toFixed(decimals));
    return `${sign}${texts[0]} [${texts[1]}, ${texts[2]}]`;
  };

  const baselines = (report) => {
    const figures = [...report.querySelectorAll(".panels")].filter((one) => Object.hasOwn(data.differences, one.dataset.name));
    if (!figures.length) return;
    const original = figures.map((figure) => [...figure.children].map((table) => table.cloneNode(true)));
    const rows = figures.flatMap((figure) => data.differences[figure.dataset.name].panels.flat());
    const names = [...new Set(rows.flatMap(([a, b]) => [a, b]))].sort((a, b) => a.localeCompare(b, "en", { numeric: true }));
    const select = make("select", { id: "baseline" }, make("option", { value: "" }, "best of each data set"));
    select.append(...names.map((name) => make("option", {}, name)));
    select.addEventListener("change", () => figures.forEach((figure, place) => {
      figure.replaceChildren(...original[place].map((table) => table.cloneNode(true)));
      if (!select.value) return;
      const { falling, panels } = data.differences[figure.dataset.name];
      panels.forEach((own, k) => redraw(figure.children[k], own, falling, select.value));
    }));
    figures[0].closest("figure").before(make("p", { class: "baseline" }, make("label", { for: "baseline" }, "Differences to"), select));
  };

  const grid = (table) => {
    const head = make("tr"), body = make("tbody");
    for (const [title, numbers] of table.columns) head.append(make("th", { scope: "col", ...(numbers ? { class: "number" } : {}) }, title));
    for (const row of table.rows) {
      const line = make("tr");
      row.forEach((text, place) => {
        const folded = text.length > data.long && (text.includes(" ") ? "long" : "word");
        const kind = table.columns[place][1] ? "number" : folded;
        line.append(make("td", kind ? { class: kind } : {}, text));
      });
      body.append(line);
    }
    const made = make("table", {}, make("thead", {}, head), body);
    sortable(made);
    return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": table.title || "numbers" }, made);
  };
  const pairs = (entries) => {
    const list = make("dl");
    for (const [key, value] of entries) list.append(make("dt", {}, key), make("dd", {}, value));
    return list;
  };

  const page = (name) => {
    const run = data.runs[name];
    const parts = [
      make("p", {}, make("a", { href: "#content" }, "Back to the report")),
      make("h1", { tabindex: "-1" }, run.table.title || name),
      make("p", { class: "faint" }, make("a", { href: run.folder }, "Files"), run.started ? `, started ${run.started}` : ""),
      grid(run.table),
    ];
    if (run.table.caption) parts.push(make("p", { class: "faint" }, `${run.table.caption}.`));
    if (run.notes.length) parts.push(make("ul", {}, ...run.notes.map((note) => make("li", {}, note))));
    if (run.charts.length) parts.push(make("div", { class: "charts" }, ...run.charts.map(draw)));
    for (const table of run.tables) parts.push(make("h2", {}, table.title), grid(table));
    const settings = { ...data.settings, ...run.settings };
    for (const key of run.absent) delete settings[key];
    parts.push(make("h2", {}, "Settings"), pairs(Object.entries(settings).sort(([a], [b]) => a.localeCompare(b))));
    parts.push(make("h2", {}, "Environment"), pairs(Object.entries(data.environments[run.environment])));
    return parts;
  };

  const report = document.getElementById("report"), article = document.getElementById("run");
  const follow = () => {
    const name = location.hash.startsWith("#run=") ? location.hash.slice(5) : "";
    const known = Object.hasOwn(data.runs, name);
    report.hidden = known;
    article.hidden = !known;
    document.querySelector("nav").hidden = known;
    if (known) {
      article.replaceChildren(...page(name));
      scrollTo(0, 0);
      article.querySelector("h1").focus({ preventScroll: true });
    } else article.replaceChildren();
  };

  for (const table of report.querySelectorAll("table:not(.points)")) sortable(table);
  baselines(report);
  const find = document.getElementById("find");
  if (find) filterable(find, document.getElementById("found"), report);
  addEventListener("hashchange", follow);
  follow();
})();
