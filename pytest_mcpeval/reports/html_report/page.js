"use strict";
// The page of a report. All text of reports is set as text: nothing of it is ever read as HTML.
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("data");
  const { suites, outcomes, cases } = data;
  const PAGE = 50;
  const byId = (id) => document.getElementById(id);

  /** An element with attributes and children; children that are no elements become text. */
  const make = (tag, attributes = {}, ...children) => {
    const found = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) found.setAttribute(name, value);
    }
    found.append(...children.flat().filter((child) => child !== null && child !== "").map((child) =>
      child instanceof Node ? child : String(child)));
    return found;
  };

  // What is looked at stands in the fragment, so that it can be shared.
  const state = () => new URLSearchParams(location.hash.slice(1));
  const linkTo = (changes, from = state()) => {
    for (const [name, value] of Object.entries(changes)) {
      if (value) from.set(name, value); else from.delete(name);
    }
    return `#${from}`;
  };
  const go = (changes, replacing = false) => {
    const link = linkTo(changes);
    if (replacing) {
      history.replaceState(null, "", link);
      show();
    } else if (location.hash !== link) location.hash = link;
  };

  const keyOf = (number) => `${suites[cases.suite[number]].key}::${cases.id[number]}`;
  const lowered = cases.id.map((id, number) =>
    `${id}\n${cases.name[number]}\n${cases.message[number]}\n${cases.label[number]}`.toLowerCase());
  const milliseconds = (value) =>
    value === null ? "" : value >= 10 ? `${Math.round(value).toLocaleString("en")} ms` : `${value.toPrecision(2)} ms`;

  const SORTS = {
    "": "worst first", file: "order of the files", id: "id", slow: "slowest first", fast: "fastest first",
  };
  // What failed, then what was lost, then the rest.
  const isWrong = new Set(["error", "failed", "wrong", "inconclusive"].map((one) => outcomes.indexOf(one)));
  const weight = (number) => isWrong.has(cases.outcome[number]) ? 0 : cases.change[number] === "lost" ? 1 : 2;
  const comparisons = {
    "": (a, b) => weight(a) - weight(b) || cases.outcome[a] - cases.outcome[b] || a - b,
    file: (a, b) => a - b,
    id: (a, b) => (cases.id[a] < cases.id[b] ? -1 : cases.id[a] > cases.id[b] ? 1 : a - b),
    slow: (a, b) => (cases.latency[b] ?? -1) - (cases.latency[a] ?? -1) || a - b,
    fast: (a, b) => (cases.latency[a] ?? Infinity) - (cases.latency[b] ?? Infinity) || a - b,
  };
  const orders = {};
  const order = (name) => {
    orders[name] ??= cases.id.map((_, number) => number).sort(comparisons[name]);
    return orders[name];
  };

  /** The cases that fit the filters, sorted; and how many of each outcome fit all but the filter of outcomes. */
  const filtered = (asked) => {
    const chosen = new Set((asked.get("outcome") ?? "").split(",").filter(Boolean).map((one) => outcomes.indexOf(one)));
    const kind = asked.get("kind"), suite = asked.get("suite"), change = asked.get("change");
    const tag = asked.has("tag") ? cases.tagNames.indexOf(asked.get("tag")) : null;
    const target = asked.has("target") ? cases.targetNames.indexOf(asked.get("target")) : null;
    const words = (asked.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    const wanted = suites.map((one) => (!kind || one.kind === kind) && (!suite || one.key === suite));
    const counts = outcomes.map(() => 0);
    const found = [];
    for (const number of order(comparisons[asked.get("sort") ?? ""] ? asked.get("sort") ?? "" : "")) {
      if (!wanted[cases.suite[number]]) continue;
      if (tag !== null && !cases.tags[number].includes(tag)) continue;
      if (target !== null && !cases.targets[number].includes(target)) continue;
      if (change && (change === "changed" ? !cases.change[number] : cases.change[number] !== change)) continue;
      if (words.length && !words.every((word) => lowered[number].includes(word))) continue;
      counts[cases.outcome[number]] += 1;
      if (!chosen.size || chosen.has(cases.outcome[number])) found.push(number);
    }
    return { found, counts, chosen };
  };

  const changeMark = (number) => cases.change[number]
    ? make("span", { class: cases.change[number] }, cases.change[number] === "lost" ? "▼ lost" : "▲ won") : "";

  const chip = (number) => {
    const outcome = outcomes[cases.outcome[number]];
    return make("span", { class: `chip ${outcome}` }, cases.label[number] || outcome);
  };

  const row = (number) => make("li", {}, make("a", { href: linkTo({ case: keyOf(number) }) },
    make("span", {}, chip(number)),
    make("span", { class: "what" }, make("span", { class: "id" }, cases.id[number]), changeMark(number),
      make("span", { class: "said" }, " ", cases.message[number] || cases.name[number])),
    make("span", { class: "where" }, suites[cases.suite[number]].title),
    make("span", { class: "time" }, milliseconds(cases.latency[number]))));

  const form = byId("filters");
  const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;

  const showList = (asked) => {
    const { found, counts, chosen } = filtered(asked);
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    const page = Math.min(pages, Math.max(1, Number.parseInt(asked.get("page") ?? "1", 10) || 1));
    byId("rows").replaceChildren(...found.slice((page - 1) * PAGE, page * PAGE).map(row));
    byId("count").textContent = found.length === cases.id.length
      ? plural(found.length, "case") : `${found.length.toLocaleString("en")} of ${plural(cases.id.length, "case")}`;
    byId("clear").hidden = !["outcome", "q", "kind", "suite", "tag", "target", "change"].some((one) => asked.get(one));
    byId("clear").href = linkTo(Object.fromEntries([...form.elements].map((one) => [one.name, ""]).concat([["outcome", ""], ["page", ""]])));
    byId("pages").replaceChildren(...(pages === 1 ? [] : [
      ...(page > 1 ? [make("a", { href: linkTo({ page: page > 2 ? page - 1 : "" }) }, "← previous")] : []),
      make("span", {}, `page ${page} of ${pages}`),
      ...(page < pages ? [make("a", { href: linkTo({ page: page + 1 }) }, "next →")] : []),
    ]));
    for (const button of byId("outcomes").children) {
      const outcome = Number(button.dataset.outcome);
      button.setAttribute("aria-pressed", chosen.has(outcome));
      button.lastChild.textContent = counts[outcome].toLocaleString("en");
    }
    for (const field of form.elements) {
      if (field.name && document.activeElement !== field) field.value = asked.get(field.name) ?? "";
    }
  };

  const fillFilters = () => {
    const used = new Set(cases.outcome);
    byId("outcomes").replaceChildren(...outcomes.flatMap((outcome, number) => used.has(number) ? [
      make("button", { type: "button", "data-outcome": number, "aria-pressed": "false" }, outcome, make("b", {}, "0")),
    ] : []));
    const options = (name, values, all) => form.elements[name].replaceChildren(
      ...(all === null ? [] : [make("option", { value: "" }, all)]),
      ...values.map(([value, text]) => make("option", { value }, text)));
    const sorted = (texts) => [...texts].sort().map((text) => [text, text]);
    options("kind", sorted(new Set(suites.map((one) => one.kind))), "all");
    options("suite", suites.map((one) => [one.key, one.title]), "all");
    options("tag", sorted(cases.tagNames), "all");
    options("target", sorted(cases.targetNames), "all");
    options("change", [["lost", "lost"], ["won", "won"], ["changed", "lost or won"]], "all");
    options("sort", Object.entries(SORTS), null);
    for (const name of ["kind", "suite", "tag", "target", "change"]) {
      const field = form.elements[name];
      const isOfUse = name === "change" ? cases.change.some(Boolean) : field.options.length > 2;
      field.closest("label").hidden = !isOfUse;
    }
    byId("outcomes").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      const chosen = new Set((state().get("outcome") ?? "").split(",").filter(Boolean));
      const outcome = outcomes[button.dataset.outcome];
      if (!chosen.delete(outcome)) chosen.add(outcome);
      go({ outcome: [...chosen].join(","), page: "" });
    });
    form.addEventListener("input", (event) => {
      // What is typed is one step back, not one for each letter.
      go({ [event.target.name]: event.target.value, page: "" }, event.target.name === "q");
    });
    form.addEventListener("submit", (event) => event.preventDefault());
  };

  // One case.

  const chunks = {};
  const evidenceOf = (number) => {
    const chunk = Math.floor(number / data.chunk);
    chunks[chunk] ??= read(`evidence-${chunk}`);
    return chunks[chunk][number % data.chunk];
  };
  let screenshots = null;

  const quoted = (text) => /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
  const command = (number) => ["pytest", "--mcpeval", ...data.options,
    `${suites[cases.suite[number]].key}::${cases.item[number] ?? cases.id[number]}`].map(quoted).join(" ");

  const table = (header, rows, attributes = {}) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": attributes.label ?? "table" },
    make("table", {}, header.some(Boolean)
      ? make("thead", {}, make("tr", {}, header.map((text) => text ? make("th", { scope: "col" }, text) : make("td")))) : "",
    make("tbody", {}, rows.map((cells) => make("tr", {}, cells.map((text) => make("td", {}, text)))))));

  const screenshot = (one) => {
    const image = make("img", { src: (screenshots ??= read("screenshots"))[one.picture], alt: `Screenshot: ${one.title}` });
    const button = make("button", { type: "button", "aria-label": `Screenshot: ${one.title}, larger or smaller` }, image);
    const found = make("section", { class: "shot" }, make("h2", {}, one.title), button);
    button.addEventListener("click", () => found.classList.toggle("large"));
    return found;
  };

  const block = (one) => {
    if ("picture" in one) return screenshot(one);
    const content = "rows" in one ? table(one.header, one.rows, { label: one.title })
      : make("pre", { tabindex: "0", role: "region", "aria-label": one.title }, one.text);
    return make("section", { class: "block" }, make("h2", {}, one.title), one.drawing ? drawing(one.drawing) : "", content);
  };

  /** A picture whose numbers are in the table below it. */
  const drawing = (picture) => {
    const { svg } = draw[picture.type](picture, Math.max(240, Math.min(byId("case").clientWidth, 900)));
    svg.setAttribute("aria-hidden", "true");
    return make("div", { role: "img", "aria-label": `${picture.title}. The table below it says the same.` }, svg);
  };

  const MARKS = { passed: "✓", failed: "✗", inconclusive: "?" };
  const rule = (given) => Object.entries(given).map(([name, value]) =>
    `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join(", ");
  const checks = (listed) => make("section", { class: "block" }, make("h2", {}, "Checks"),
    make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Checks" }, make("table", { class: "checks" }, make("tbody", {},
      listed.map(([status, type, message, step, given]) => make("tr", {},
        make("td", {}, make("span", { class: `icon ${status === "inconclusive" ? "not_evaluated" : status}`, "aria-hidden": "true" }, MARKS[status]), status),
        make("td", {}, step ? `step ${step}: ` : "", make("b", {}, type), make("div", { class: "rule" }, rule(given))),
        make("td", {}, message)))))));

  const showCase = (number, asked) => {
    const found = evidenceOf(number);
    const { found: list } = filtered(asked);
    const position = list.indexOf(number);
    const near = (step) => list[position + step];
    const suite = suites[cases.suite[number]];
    const links = [make("a", { href: linkTo({ case: "" }), rel: "up" }, "← all cases")];
    if (position > 0) links.push(make("a", { href: linkTo({ case: keyOf(near(-1)) }), rel: "prev" }, "previous"));
    if (position >= 0 && position + 1 < list.length) links.push(make("a", { href: linkTo({ case: keyOf(near(1)) }), rel: "next" }, "next"));
    if (position >= 0) links.push(make("span", { class: "count" }, `${position + 1} of ${list.length}`));
    const copy = make("button", { type: "button", class: "copy" }, "Copy");
    copy.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(command(number));
        copy.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(copy.previousSibling);
        copy.textContent = "Selected";
      }
    });
    const tags = cases.tags[number].map((one) => cases.tagNames[one]);
    const targets = cases.targets[number].map((one) => cases.targetNames[one]);
    byId("case").replaceChildren(
      make("nav", { "aria-label": "Case" }, links),
      make("h1", { id: "case-title", tabindex: "-1" }, cases.id[number]),
      make("p", { class: "facts" }, chip(number), changeMark(number),
        make("span", {}, `${suite.key}${cases.line[number] ? `:${cases.line[number]}` : ""}`),
        make("span", {}, suite.kind), make("span", {}, milliseconds(cases.latency[number])),
        targets.map((text) => make("span", {}, text)), tags.map((text) => make("span", { class: "chip" }, text))),
      cases.name[number] ? make("p", {}, cases.name[number]) : "",
      cases.message[number] ? make("p", { class: "message" }, cases.message[number]) : "",
      make("h2", {}, "Run it again"),
      make("div", { class: "again" }, make("pre", {}, command(number)), copy),
      found.checks?.length ? checks(found.checks) : "",
      ...(found.blocks ?? []).map(block),
      found.blocks ? "" : make("p", { class: "note" }, "The evidence of this case was left out, so that this page can be opened: report.json has it."));
  };

  // Pictures, drawn by Observable Plot. Each has its numbers in a table.

  const shortened = (text, length) => text.length > length ? `${text.slice(0, length - 1)}…` : text;
  const percent = (value) => value === null || value === undefined ? "" : String(Number(value.toPrecision(4)));

  const style = { fontSize: "11.5px" };

  const draw = {
    bars(picture, width) {
      const rows = picture.rows.map((one, number) => ({ ...one, number }));
      const left = Math.min(Math.max(...rows.map((one) => one.name.length)) * 6.6 + 12, width * 0.46);
      const right = Math.min(Math.max(...rows.map((one) => one.words.length)) * 6.8 + 14, width * 0.36);
      const letters = Math.floor((right - 12) / 6.3);
      const known = rows.filter((one) => one.value !== null);
      const at = { y: "number" };
      const svg = Plot.plot({
        width, style, height: rows.length * (width < 500 ? 17 : 21) + 26, marginLeft: left, marginRight: right, marginTop: 2, marginBottom: 22,
        x: { domain: [0, picture.top], label: null, ticks: 5, grid: true },
        y: { type: "band", domain: rows.map((one) => one.number), label: null, padding: 0.3, tickSize: 0,
          tickFormat: (number) => shortened(rows[number].name, Math.floor((left - 10) / 6.3)) },
        marks: [
          Plot.barX(known.filter((one) => !one.bad), { ...at, x: "value", fill: "var(--bar)", rx2: 2 }),
          Plot.barX(known.filter((one) => one.bad), { ...at, x: "value", fill: "var(--bad)", rx2: 2 }),
          Plot.ruleY(rows.filter((one) => one.low != null), { ...at, x1: "low", x2: "high", stroke: "var(--quiet)", strokeWidth: 2 }),
          Plot.tickX(rows.filter((one) => one.baseline != null), { ...at, x: "baseline", stroke: "currentColor", strokeWidth: 2.5 }),
          Plot.tickX(rows.filter((one) => one.limit != null), { ...at, x: "limit", stroke: "var(--limit)", strokeWidth: 2, strokeDasharray: "3 2" }),
          Plot.text(rows, { ...at, x: picture.top, text: (one) => shortened(one.words, letters), textAnchor: "start", dx: 8, fill: "currentColor" }),
        ],
      });
      const has = (name) => rows.some((one) => one[name] != null);
      const legend = [["baseline", "baseline"], ["limit", "limit"], ["low", "interval"]].filter(([name]) => has(name));
      const columns = [["baseline", "baseline"], ["limit", "limit"], ["low", "from"], ["high", "to"]].filter(([name]) => has(name));
      return {
        svg, legend: legend.map(([, text]) => make("span", {}, make("i", { class: text }), text === "interval" ? "95 % interval" : text)),
        header: ["", "value", ...columns.map(([, text]) => text)],
        rows: rows.map((one) => [one.name, one.words, ...columns.map(([name]) =>
          (name === "limit" && one.limit != null ? (one.wanted === "at most" ? "≤ " : "≥ ") : "") + percent(one[name]))]),
      };
    },
    matrix(picture, width) {
      const cells = picture.counts.flatMap((counts, row) => {
        const total = counts.reduce((sum, count) => sum + count, 0) || 1;
        return counts.map((count, column) => ({ row, column, count, share: count / total,
          wrong: picture.wrong.some(([r, c]) => r === row && c === column) }));
      });
      const left = Math.min(Math.max(...picture.rows.map((name) => name.length)) * 6.6 + 12, width * 0.46);
      const at = { x: "column", y: "row" };
      const svg = Plot.plot({
        width, style, height: picture.rows.length * 24 + 26, marginLeft: left, marginTop: 22, marginBottom: 4, marginRight: 2,
        x: { type: "band", domain: picture.columns.map((_, column) => column), axis: "top", label: null, tickSize: 0, tickFormat: (column) => picture.columns[column], padding: 0.03 },
        y: { type: "band", domain: picture.rows.map((_, row) => row), label: null, tickSize: 0, tickFormat: (row) => picture.rows[row], padding: 0.06 },
        marks: [
          Plot.cell(cells.filter((one) => !one.wrong && one.count), { ...at, fill: "var(--good)", fillOpacity: (one) => 0.06 + 0.34 * one.share }),
          Plot.cell(cells.filter((one) => one.wrong && one.count), { ...at, fill: "var(--bad)", fillOpacity: (one) => 0.06 + 0.34 * one.share }),
          Plot.text(cells, { ...at, text: (one) => one.count ? `${one.count} (${Math.round(100 * one.share)} %)` : "0", fill: "currentColor" }),
        ],
      });
      return { svg, header: ["", ...picture.columns], rows: picture.rows.map((name, row) => [name, ...picture.counts[row]]) };
    },
    curve(picture, width) {
      const size = Math.min(width, 360);
      const svg = Plot.plot({
        width: size, style, height: size * 0.86, marginLeft: 44, marginBottom: 36,
        x: { domain: [0, 1], label: picture.across }, y: { domain: [0, 1], label: picture.up },
        grid: true,
        marks: [
          Plot.link([0], { x1: 0, y1: 0, x2: 1, y2: 1, stroke: "var(--quiet)", strokeOpacity: 0.5 }),
          picture.limit == null ? null : Plot.ruleX([picture.limit], { stroke: "var(--limit)", strokeDasharray: "4 3", strokeWidth: 1.5 }),
          Plot.line(picture.points, { x: (point) => point[0], y: (point) => point[1], stroke: "var(--bar)", strokeWidth: 2 }),
          Plot.dot(picture.marks, { x: "x", y: "y", fill: "var(--card)", stroke: "currentColor", strokeWidth: 2, r: 4.5 }),
          Plot.text(picture.marks, { x: "x", y: "y", text: "name", textAnchor: "start", dx: 9, dy: 6, fill: "currentColor" }),
        ],
      });
      return {
        svg, legend: picture.limit == null ? [] : [make("span", {}, make("i", { class: "limit" }), `${picture.across} ceiling ${picture.limit}`)],
        header: ["", picture.across, picture.up],
        rows: [...picture.marks.map((one) => [one.name, percent(one.x), percent(one.y)]),
          ...picture.points.map(([x, y]) => ["", percent(x), percent(y)])],
      };
    },
    trend(picture, width) {
      const points = picture.points.map((one, number) => ({ ...one, number: number + 1 }));
      const changed = points.filter((one) => one.changed);
      const at = { x: "number", y: "value" };
      const svg = Plot.plot({
        width, style, height: 170, marginLeft: 52, marginBottom: 34,
        x: { label: "run", domain: [1, points.length], ticks: Math.min(points.length - 1, 8), tickFormat: "d" },
        y: { label: null, grid: true, nice: true, ticks: 4 },
        marks: [
          Plot.ruleX(changed, { x: "number", stroke: "var(--limit)", strokeDasharray: "3 2", strokeWidth: 1.5 }),
          Plot.line(points, { ...at, stroke: "var(--bar)", strokeWidth: 2 }),
          Plot.dot(points, { ...at, fill: "var(--bar)", r: 3 }),
        ],
      });
      return {
        svg, legend: changed.length ? [make("span", {}, make("i", { class: "limit" }), "data or settings changed")] : [],
        header: ["run", "value", "when", "commit", "data and settings"],
        rows: points.map((one) => [one.number, percent(one.value), one.when, one.commit, one.changed ? "changed" : "as before"]),
      };
    },
    histogram(picture, width) {
      const bins = picture.bins.map(([from, to, count]) => ({ from, to, count }));
      const svg = Plot.plot({
        width, style, height: 170, marginLeft: 44, marginBottom: 34,
        x: { label: picture.across, domain: [bins[0].from, bins.at(-1).to], ticks: 6 }, y: { label: "cases", grid: true, ticks: 4 },
        marks: [Plot.rectY(bins, { x1: "from", x2: "to", y: "count", fill: "var(--bar)", inset: 0.5 }), Plot.ruleY([0])],
      });
      return { svg, header: [`from (${picture.across})`, "to", "cases"], rows: bins.map((one) => [percent(one.from), percent(one.to), one.count]) };
    },
    shifts(picture, width) {
      const depth = Math.max(...picture.rows.map((one) => one.depth));
      const rows = picture.rows.map((one, number) => ({ ...one, number, from: one.was || depth + 1, to: one.now || depth + 1 }));
      const left = Math.min(Math.max(...rows.map((one) => one.name.length)) * 6.6 + 12, width * 0.46);
      const at = { y: "number" };
      const of = (change) => rows.filter((one) => one.change === change);
      const arrow = (change, colour) => Plot.arrow(of(change), { x1: "from", x2: "to", y1: "number", y2: "number", stroke: colour, strokeWidth: 2, headLength: 7 });
      const svg = Plot.plot({
        width, style, height: rows.length * 19 + 44, marginLeft: left, marginRight: 16, marginTop: 26, marginBottom: 6,
        x: { domain: [1, depth + 1], axis: "top", label: null, ticks: depth + 1, grid: true, tickFormat: (rank) => rank > depth ? "none" : rank },
        y: { type: "point", domain: rows.map((one) => one.number), label: null, tickSize: 0, tickFormat: (number) => shortened(rows[number].name, Math.floor((left - 10) / 6.3)) },
        marks: [arrow("lost", "var(--bad)"), arrow("won", "var(--good)"), Plot.dot(rows, { ...at, x: "from", r: 3, fill: "var(--quiet)" })],
      });
      return { svg, header: ["query", "", "rank before", "rank now"], rows: rows.map((one) => [one.name, one.change, one.was ?? "not found", one.now ?? "not found"]) };
    },
    timeline(picture, width) {
      const events = picture.events.map((one, number) => ({ ...one, number }));
      const svg = Plot.plot({
        width, style, height: events.length * 20 + 34, marginLeft: 12, marginRight: 12, marginTop: 4, marginBottom: 30,
        x: { label: "ms since the first", nice: true, domain: [0, (events.at(-1).at || 1) * (width < 500 ? 2.4 : 1.5)], grid: true },
        y: { type: "point", domain: events.map((one) => one.number), axis: null },
        marks: [
          Plot.ruleY(events, { y: "number", x1: 0, x2: "at", stroke: "var(--line)" }),
          Plot.dot(events, { x: "at", y: "number", fill: "var(--bar)", r: 4 }),
          Plot.text(events, { x: "at", y: "number", text: (one) => `${shortened(one.name, 40)}, ${one.at} ms`, textAnchor: "start", dx: 9, fill: "currentColor" }),
        ],
      });
      return { svg };
    },
    calls(picture, width) {
      const { calls } = picture;
      const names = [...new Set(calls.map((one) => one.row))];
      const colours = { answered: "var(--good)", error: "var(--bad)", blocked: "var(--warn)" };
      const svg = Plot.plot({
        width, style, height: names.length * 26 + 30, marginLeft: Math.min(Math.max(...names.map((name) => name.length)) * 6.6 + 14, width * 0.4), marginTop: 4, marginBottom: 26,
        x: { type: "band", label: null, padding: 0.06, domain: [...new Set(calls.map((one) => one.number))].sort((a, b) => a - b) },
        y: { type: "band", domain: names, label: null, tickSize: 0, padding: 0.12 },
        marks: [
          ...Object.entries(colours).map(([status, fill]) => Plot.cell(calls.filter((one) => one.status === status), { x: "number", y: "row", fill, fillOpacity: 0.22 })),
          Plot.text(calls, { x: "number", y: "row", text: (one) => shortened(one.tool, Math.max(3, Math.floor(width * 0.8 / Math.max(...calls.map((c) => c.number)) / 6.5))), fill: "currentColor" }),
        ],
      });
      return { svg, legend: Object.keys(colours).filter((status) => calls.some((one) => one.status === status)).map((status) => make("span", {}, make("i", { style: `border-left: 9px solid ${colours[status]}; opacity: .6` }), status)),
        header: ["scenario", "call", "server", "tool", ""], rows: calls.map((one) => [one.row, one.number, one.server, one.tool, one.status]) };
    },
  };

  const figure = (picture, width) => {
    const { svg, legend = [], header, rows } = draw[picture.type](picture, width);
    svg.setAttribute("aria-hidden", "true");
    const numbers = make("details", {}, make("summary", {}, "Numbers"));
    numbers.addEventListener("toggle", () => {
      if (numbers.children.length === 1) numbers.append(table(header, rows, { label: picture.title }));
    });
    return make("figure", {}, make("figcaption", {}, picture.title),
      make("div", { role: "img", "aria-label": `${picture.title}. The numbers are in the table below it.` }, svg),
      legend.length ? make("p", { class: "legend" }, legend) : "",
      picture.note ? make("p", { class: "note" }, picture.note) : "", numbers);
  };

  const drawInto = (place, pictures) => {
    const width = Math.max(240, Math.min(place.clientWidth, place.classList.contains("pictures") ? columnWidth(place) : 900));
    if (place.dataset.width === String(width)) return;
    place.dataset.width = width;
    place.replaceChildren(...pictures.filter((one) => draw[one.type] && (one.rows ?? one.calls ?? one.points ?? one.bins).length)
      .map((one) => figure(one, width)));
  };
  const columnWidth = (place) => Number.parseFloat(getComputedStyle(place).gridTemplateColumns) || place.clientWidth;

  const drawAll = () => {
    const main = document.querySelector(".picture");
    if (main.clientWidth) drawInto(main, [data.main]);
    for (const card of document.querySelectorAll(".suite-card[open]")) {
      const place = card.querySelector(".pictures");
      if (place.clientWidth) drawInto(place, data.pictures[card.dataset.suite]);
    }
  };

  const openSuites = (asked) => {
    const open = new Set(asked.getAll("open"));
    for (const card of document.querySelectorAll(".suite-card")) {
      card.open = open.has(suites[card.dataset.suite].key);
    }
  };
  document.addEventListener("toggle", (event) => {
    if (!event.target.matches?.(".suite-card")) return;
    const asked = state(), { key } = suites[event.target.dataset.suite];
    if (event.target.open !== asked.getAll("open").includes(key)) {
      const others = asked.getAll("open").filter((one) => one !== key);
      asked.delete("open");
      for (const one of event.target.open ? [...others, key] : others) asked.append("open", one);
      history.replaceState(null, "", `#${asked}`);
    }
    drawAll();
  }, true);

  // What the fragment says is shown.

  let positions = null;
  let scrolled = 0;
  const title = document.title;
  const show = () => {
    const asked = state();
    positions ??= new Map(cases.id.map((_, number) => [keyOf(number), number]));
    const number = positions.get(asked.get("case"));
    const isCase = number !== undefined;
    const wasCase = !byId("case").hidden;
    if (isCase && !wasCase) scrolled = scrollY;
    byId("overview").hidden = isCase;
    byId("case").hidden = !isCase;
    byId("top").hidden = isCase;
    document.title = isCase ? `${cases.id[number]} – ${title}` : title;
    if (isCase) {
      showCase(number, asked);
      scrollTo({ top: 0, behavior: "instant" });
      byId("case-title").focus({ preventScroll: true });
    } else {
      openSuites(asked);
      showList(asked);
      drawAll();
      if (wasCase) scrollTo({ top: scrolled, behavior: "instant" });
    }
  };

  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = event.target.matches?.("input, select, textarea");
    const isCase = !byId("case").hidden;
    if (event.key === "Escape" && isCase) go({ case: "" });
    if (isTyping) return;
    if (event.key === "/" && !isCase) {
      event.preventDefault();
      form.elements.q.focus();
    }
    if (event.key === "j" || event.key === "k") {
      const down = event.key === "j";
      if (isCase) return byId("case").querySelector(`[rel=${down ? "next" : "prev"}]`)?.click();
      const links = [...byId("rows").querySelectorAll("a")];
      const at = links.indexOf(document.activeElement);
      links[at < 0 ? 0 : Math.min(links.length - 1, Math.max(0, at + (down ? 1 : -1)))]?.focus();
    }
  });
  document.addEventListener("click", (event) => {
    const to = event.target.dataset?.to;
    if (!to) return;
    if (event.target.hash) history.pushState(null, "", event.target.hash);
    event.preventDefault();
    show();
    byId(to).scrollIntoView();
  });
  addEventListener("hashchange", show);
  let waiting = 0;
  addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 120);
  });
  fillFilters();
  show();
  if (["outcome", "q", "kind", "suite", "tag", "target", "change", "page"].some((one) => state().get(one)) && !state().get("case")) {
    byId("cases").scrollIntoView({ behavior: "instant" });
  }
})();
