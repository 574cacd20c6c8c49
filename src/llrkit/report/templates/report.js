"use strict";
(function () {
  const data = JSON.parse(document.getElementById("report-data").textContent);
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);

  // --- colours: roles are in the figures, palettes here -----------------------------------------------------
  const DARK = {
    systems: ["#5AB4F0", "#F2B632", "#F2F2F2", "#E59AC8", "#35CFA0", "#9AD4F7", "#FF8F4A"],
    roles: { target: "#5AB4F0", nontarget: "#FF8F4A", reference: "#C8C8C8", guide: "#858585" },
  };
  const GROUND = {
    light: { paper: "#FFFFFF", ink: "#1d2126", grid: "#DDDDDD", axis: "#333333" },
    dark: { paper: "#14171b", ink: "#e6e9ed", grid: "#333b45", axis: "#a3adb9" },
  };
  let theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

  function colourOf(whose) {
    const palette = theme === "dark" ? DARK : data.colours;
    const index = Number(whose);
    return Number.isInteger(index) ? palette.systems[index % palette.systems.length] : palette.roles[whose];
  }

  function translucent(colour, opacity) {
    const parts = [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16));
    return `rgba(${parts.join(",")},${opacity})`;
  }

  function dressed(figure) {
    const ground = GROUND[theme];
    const traces = figure.data.map((trace) => {
      if (!trace.meta) return trace;
      const colour = colourOf(trace.meta.ink);
      const made = { ...trace };
      if (trace.line) made.line = { ...trace.line, color: colour };
      if (trace.meta.fill) made.fillcolor = translucent(colour, trace.meta.fill);
      if (trace.marker) {
        const inside = trace.meta.hollow ? ground.paper : colour;
        made.marker = { ...trace.marker, color: inside, line: { ...trace.marker.line, color: colour } };
      }
      made.visible = !hidden.has(trace.meta.group);
      return made;
    });
    const axis = (given) => ({ ...given, gridcolor: ground.grid, linecolor: ground.axis, tickcolor: ground.axis });
    const layout = {
      ...figure.layout,
      font: { ...figure.layout.font, color: ground.ink },
      paper_bgcolor: ground.paper,
      plot_bgcolor: ground.paper,
      xaxis: axis(figure.layout.xaxis),
      yaxis: axis(figure.layout.yaxis),
      hoverlabel: { bgcolor: ground.paper, font: { color: ground.ink } },
      legend: { ...figure.layout.legend, bgcolor: "rgba(0,0,0,0)" },
      annotations: figure.layout.annotations.map((words) => ({ ...words, font: { color: colourOf(words.name) } })),
      shapes: shapesOf(figure),
      autosize: true,
    };
    return { traces, layout };
  }

  // --- plots: drawn one after the other, first those in sight ------------------------------------------------
  const hidden = new Set();
  const drawn = new Set();
  let logOdds = 0.0;
  let used = null;

  function shapesOf(figure) {
    const along = { ape: logOdds, bayes_error: logOdds, ece: logOdds / Math.LN10 };
    if (!(figure.kind in along)) return [];
    const x = along[figure.kind];
    const line = { color: theme === "dark" ? "#79bdf0" : "#0060a0", width: 1.2 };
    return [{ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line }];
  }

  function sizeFor(figure, width) {
    const plot = Math.round(Math.max(240, figure.equal ? Math.min(width, 560) : Math.min(0.68 * width, 430)));
    const across = Math.max(1, Math.floor((width - 60) / 200));
    return { plot, legend: figure.labels ? 24 * Math.ceil(figure.labels / across) + 10 : 0 };
  }

  const PAPER = { large: 640, small: 310 };
  let screenTheme = null;  // while on paper: what to go back to

  function draw(i) {
    const figure = data.figures[i];
    const place = byId("figure" + i);
    const onPaper = place.closest(".small") ? PAPER.small : PAPER.large;
    const wide = screenTheme === null ? place.clientWidth : onPaper;
    const { traces, layout } = dressed(figure);
    layout.width = wide;
    const size = sizeFor(figure, wide);
    layout.height = size.plot + size.legend;
    layout.margin = { ...layout.margin, b: 50 + size.legend };
    layout.legend = { ...layout.legend, y: -56 / (size.plot - 65) };
    layout.autosize = false;
    drawn.add(i);
    return Plotly.react(place, traces, layout, { displaylogo: false, displayModeBar: false });
  }

  function redraw() {
    return Promise.all([...drawn].map((i) => draw(i)));
  }

  async function drawInTurn() {
    const order = data.figures.map((_, i) => i);
    const top = (i) => Math.abs(byId("figure" + i).getBoundingClientRect().top - innerHeight / 2);
    while (order.length) {
      order.sort((a, b) => top(a) - top(b));
      await draw(order.shift());
      await new Promise((done) => setTimeout(done, 0));
    }
    root.dataset.ready = "true";
  }

  // --- numbers: as the library writes them -------------------------------------------------------------------
  // toFixed rounds halves up, Python rounds them to even; only exact halves differ
  function fixed(value, digits) {
    if (Number.isNaN(value)) return "-";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    if (Math.abs(value) >= 1e6) return Number(value.toPrecision(4)).toExponential().replace(/e\+(\d)$/, "e+0$1");
    const all = Math.abs(value).toFixed(100);
    const cut = all.indexOf(".") + 1 + digits;
    let text = Math.abs(value).toFixed(digits);
    if (/^50*$/.test(all.slice(cut))) {
      const below = all.slice(0, cut).replace(/\.$/, "");
      if (Number(below[below.length - 1]) % 2 === 0) text = below;
    }
    return value < 0 || Object.is(value, -0) ? "-" + text : text;
  }
  const percent = (rate) => fixed(100 * rate, 2) + " %";

  // --- operating point ---------------------------------------------------------------------------------------
  function decoded(stored) {
    if (stored.rates) return Float64Array.from(stored.rates);
    const rates = new Float64Array(stored.steps.length);
    let count = 0;
    stored.steps.forEach((step, i) => {
      count += step;
      rates[i] = count / stored.n;
    });
    return rates;
  }
  const KINDS = ["actual_miss", "actual_fa", "best_miss", "best_fa"];
  const grids = data.rates.map((stored) => KINDS.map((kind) => decoded(stored[kind])));
  const gridOdds = (i) => (i === data.grid.n - 1 ? -data.grid.first : i * data.grid.step + data.grid.first);
  const logit = (p) => Math.log(p) - Math.log1p(-p);
  const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));

  function cost(odds, miss, fa) {
    const beta = Math.exp(-odds);
    return beta >= 1 ? miss + beta * fa : miss / beta + fa;
  }

  const inputs = { prior: byId("prior"), miss: byId("c-miss"), fa: byId("c-fa") };
  const slider = byId("log-odds");
  const preset = byId("preset");

  function readNumber(input, accepted) {
    const text = input.value.trim().replace(",", ".");
    let value = text.endsWith("%") ? Number(text.slice(0, -1)) / 100 : Number(text);
    if (text === "" || !accepted(value)) value = NaN;
    input.setAttribute("aria-invalid", Number.isNaN(value) ? "true" : "false");
    return value;
  }
  const positive = (value) => value > 0 && Number.isFinite(value);
  const probability = (value) => value > 0 && value < 1;

  function show(odds, prior, ratesOf, words) {
    used = { odds, prior };
    logOdds = odds;
    byId("panel-used").textContent = words;
    const rows = byId("panel-table").tBodies[0].rows;
    data.systems.forEach((_, s) => {
      const [miss, fa, bestMiss, bestFa] = ratesOf(s);
      const texts = [
        fixed(0 - odds, 3), percent(miss), percent(fa), fixed(cost(odds, miss, fa), 4),
        fixed(cost(odds, bestMiss, bestFa), 4), fixed(1000 * (prior * miss), 2), fixed(1000 * ((1 - prior) * fa), 2),
      ];
      texts.forEach((text, k) => { rows[s].cells[k + 1].textContent = text; });
    });
    moveShapes();
  }

  let moving = false;
  function moveShapes() {
    if (moving) return;
    moving = true;
    requestAnimationFrame(() => {
      moving = false;
      drawn.forEach((i) => {
        const shapes = shapesOf(data.figures[i]);
        if (shapes.length) Plotly.relayout(byId("figure" + i), { shapes });
      });
    });
  }

  function describe(odds, prior, miss, fa, note) {
    return `Target prior ${Number(prior.toPrecision(4))}, cost of a miss ${miss}, of a false alarm ${fa}: ` +
      `accept when the LLR is at least ${fixed(0 - odds, 3)} (prior log-odds ${fixed(odds, 3)}${note}).`;
  }

  function atGrid(i, note) {
    const miss = readNumber(inputs.miss, positive);
    const fa = readNumber(inputs.fa, positive);
    if (Number.isNaN(miss + fa)) return;
    const odds = gridOdds(i);
    const prior = sigmoid(odds - Math.log(miss / fa));
    slider.value = i;
    slider.setAttribute("aria-valuetext", `log-odds ${fixed(odds, 2)}`);
    show(odds, prior, (s) => grids[s].map((rates) => rates[i]), describe(odds, prior, miss, fa, note));
    return prior;
  }

  function atPoint(k) {
    const point = data.points[k];
    inputs.prior.value = point.p_target;
    inputs.miss.value = point.c_miss;
    inputs.fa.value = point.c_fa;
    Object.values(inputs).forEach((input) => input.setAttribute("aria-invalid", "false"));
    slider.value = Math.round((point.log_odds - data.grid.first) / data.grid.step);
    const words = describe(point.log_odds, point.p_target, point.c_miss, point.c_fa, `, ${point.name}`);
    show(point.log_odds, point.p_target, (s) => data.rates[s].points[k], words);
  }

  function fromInputs() {
    const prior = readNumber(inputs.prior, probability);
    const miss = readNumber(inputs.miss, positive);
    const fa = readNumber(inputs.fa, positive);
    if (Number.isNaN(prior + miss + fa)) {
      byId("panel-used").textContent = "A prior is a number between 0 and 1 (or a percentage); costs are positive.";
      return;
    }
    const same = data.points.findIndex((p) => p.p_target === prior && p.c_miss === miss && p.c_fa === fa);
    preset.value = same >= 0 ? String(same) : "";
    if (same >= 0) return atPoint(same);
    const wanted = logit(prior) + Math.log(miss / fa);
    const nearest = Math.round((wanted - data.grid.first) / data.grid.step);
    const inside = Math.min(Math.max(nearest, 0), data.grid.n - 1);
    atGrid(inside, nearest === inside ? "" : ", the end of the stored range");
  }

  slider.addEventListener("input", () => {
    preset.value = "";
    const prior = atGrid(Number(slider.value), "");
    if (prior !== undefined) {
      inputs.prior.value = Number(prior.toPrecision(4));
      inputs.prior.setAttribute("aria-invalid", "false");
    }
  });
  Object.values(inputs).forEach((input) => input.addEventListener("input", fromInputs));
  preset.addEventListener("change", () => (preset.value === "" ? fromInputs() : atPoint(Number(preset.value))));
  byId("panel-form").addEventListener("submit", (event) => event.preventDefault());

  // --- switches, theme, print --------------------------------------------------------------------------------
  const switches = [...document.querySelectorAll("input[data-system]")];
  function takeSwitches() {
    hidden.clear();
    switches.forEach((box) => { if (!box.checked) hidden.add(data.systems[Number(box.dataset.system)]); });
    redraw();
  }
  switches.forEach((box) => box.addEventListener("change", takeSwitches));
  for (const [id, on] of [["all-systems", true], ["no-systems", false]]) {
    if (byId(id)) {
      byId(id).addEventListener("click", () => {
        switches.forEach((box) => { box.checked = on; });
        takeSwitches();
      });
    }
  }

  function setTheme(wanted) {
    theme = wanted;
    root.dataset.theme = wanted;
    byId("theme").textContent = wanted === "dark" ? "Light" : "Dark";
    byId("theme").setAttribute("aria-pressed", wanted === "dark" ? "true" : "false");
  }
  byId("theme").addEventListener("click", () => {
    setTheme(theme === "dark" ? "light" : "dark");
    redraw();
  });

  function toPaper() {
    if (screenTheme !== null) return;
    screenTheme = theme;
    setTheme("light");
    data.figures.forEach((_, i) => draw(i));
  }
  function toScreen() {
    if (screenTheme === null) return;
    setTheme(screenTheme);
    screenTheme = null;
    redraw();
  }
  addEventListener("beforeprint", toPaper);
  addEventListener("afterprint", toScreen);
  matchMedia("print").addEventListener("change", (event) => (event.matches ? toPaper() : toScreen()));
  byId("print").addEventListener("click", () => print());

  let resizing = 0;
  let lastWidth = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === lastWidth || screenTheme !== null) return;
    lastWidth = innerWidth;
    clearTimeout(resizing);
    resizing = setTimeout(redraw, 150);
  });

  // --- downloads ---------------------------------------------------------------------------------------------
  const stem = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "") || "report";
  function download(text, type, name) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
  document.querySelectorAll("[data-download]").forEach((button) => button.addEventListener("click", () => {
    if (button.dataset.download === "csv") return download(data.csv, "text/csv", `${stem(data.title)}.csv`);
    return download(JSON.stringify(data.json, null, 2), "application/json", `${stem(data.title)}.json`);
  }));
  document.querySelectorAll("[data-save]").forEach((button) => button.addEventListener("click", async () => {
    const i = Number(button.dataset.figure.replace("figure", ""));
    await draw(i);
    const place = byId(button.dataset.figure);
    const options = { format: button.dataset.save, filename: stem(data.figures[i].title), scale: 2 };
    await Plotly.downloadImage(place, { ...options, width: place._fullLayout.width, height: place._fullLayout.height });
  }));
  byId("copy-methods").addEventListener("click", async () => {
    const text = byId("methods-text").textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch (refused) {  // a page from a file may not use the clipboard: select it instead
      getSelection().selectAllChildren(byId("methods-text"));
      document.execCommand("copy");
    }
    byId("copy-methods").textContent = "Copied";
  });

  setTheme(theme);
  if (data.points.length) {
    preset.value = "0";
    atPoint(0);
  } else {
    inputs.prior.value = "0.5";
    fromInputs();
  }
  window.llrkit = { state: () => used };
  drawInTurn();
})();
