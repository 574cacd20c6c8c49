// Colors and plots. With panel.js and page.js in one scope.
const data = JSON.parse(document.getElementById("report-data").textContent);
const root = document.documentElement;
const byId = (id) => document.getElementById(id);

// --- colors: roles are in the figures, palettes here -----------------------------------------------------
const DARK = {
  systems: ["#5AB4F0", "#F2B632", "#F2F2F2", "#E59AC8", "#35CFA0", "#9AD4F7", "#FF8F4A"],
  roles: { target: "#5AB4F0", nontarget: "#FF8F4A", reference: "#C8C8C8", guide: "#858585" },
};
const GROUND = {
  light: { paper: "#FFFFFF", ink: "#1d2126", grid: "#DDDDDD", axis: "#333333" },
  dark: { paper: "#14171b", ink: "#e6e9ed", grid: "#333b45", axis: "#a3adb9" },
};
let theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";

function colorOf(whose) {
  const palette = theme === "dark" ? DARK : data.colors;
  const index = Number(whose);
  return Number.isInteger(index) ? palette.systems[index % palette.systems.length] : palette.roles[whose];
}

function translucent(color, opacity) {
  const parts = [1, 3, 5].map((i) => parseInt(color.slice(i, i + 2), 16));
  return `rgba(${parts.join(",")},${opacity})`;
}

function dressed(figure) {
  const ground = GROUND[theme];
  const traces = figure.data.map((trace) => {
    if (!trace.meta) return trace;
    const color = colorOf(trace.meta.ink);
    const made = { ...trace };
    if (trace.line) made.line = { ...trace.line, color: color };
    if (trace.meta.fill) made.fillcolor = translucent(color, trace.meta.fill);
    if (trace.marker) {
      const inside = trace.meta.hollow ? ground.paper : color;
      made.marker = { ...trace.marker, color: inside, line: { ...trace.marker.line, color: color } };
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
    annotations: figure.layout.annotations.map((words) => ({ ...words, font: { color: colorOf(words.name) } })),
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
  const shown = logOdds / data.unit.nats;
  const along = { ape: shown, bayes_error: shown, cross_entropy: logOdds / Math.LN10 };
  if (!(figure.kind in along)) return [];
  const x = along[figure.kind];
  const line = { color: theme === "dark" ? "#79bdf0" : "#0060a0", width: 1.2 };
  return [{ type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line }];
}

function sizeFor(figure, width) {
  const highest = screenTheme !== null ? [400, 350] : [560, 430];  // two plots fit on a page of paper
  const plot = Math.round(Math.max(240, figure.equal ? Math.min(width, highest[0]) : Math.min(0.68 * width, highest[1])));
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

// --- keyboard: arrows read the points of a plot one after the other --------------------------------------
function inWords(trace, k) {  // what pointing there shows, without tags and entities
  const filled = trace.hovertemplate.replace(/%{customdata\[(\d+)\]}/g, (_, c) => trace.customdata[k][c]);
  const plain = filled.replace("<extra></extra>", "").replaceAll("<br>", ", ");
  return new DOMParser().parseFromString(plain, "text/html").body.textContent;
}
function readWithKeys(place) {
  let trace = 0;
  let point = -1;
  function inside(t) {
    const { xaxis, yaxis } = place._fullLayout;
    const within = (value, [a, b]) => value !== null && value >= Math.min(a, b) && value <= Math.max(a, b);
    return t.x.map((_, k) => k).filter((k) => within(t.x[k], xaxis.range) && within(t.y[k], yaxis.range));
  }
  place.addEventListener("keydown", (event) => {
    if (!place._fullData || event.ctrlKey || event.metaKey || event.altKey) return;
    const along = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -1e9, End: 1e9 }[event.key];
    const across = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") Plotly.Fx.unhover(place);
    if (along === undefined && across === undefined) return;
    const traces = place._fullData.filter((t) => t.visible === true && t.customdata && inside(t).length);
    if (!traces.length) return;
    event.preventDefault();
    trace = (trace + (across || 0) + traces.length) % traces.length;
    const points = inside(traces[trace]);
    point = Math.min(Math.max(point + (along || 0), 0), points.length - 1);
    Plotly.Fx.hover(place, [{ curveNumber: traces[trace].index, pointNumber: points[point] }]);
    byId("spoken").textContent = inWords(traces[trace], points[point]);
  });
}
document.querySelectorAll(".plot").forEach(readWithKeys);
