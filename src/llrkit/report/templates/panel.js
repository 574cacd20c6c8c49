// The operating-point panel.
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
  return value < 0 && Number(text) !== 0 ? "-" + text : text; // no minus in front of nothing
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
const inUnit = (nats) => (data.unit.nats === 1 ? nats : nats / data.unit.nats);
const oddsName = data.unit.nats === 1 ? "log-odds" : "log10-odds";
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
      fixed(inUnit(0 - odds), 3), percent(miss), percent(fa), fixed(cost(odds, miss, fa), 4),
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
  const [target, one, other] = data.words;
  return `${target} ${Number(prior.toPrecision(4))}, ${one} ${miss}, ${other} ${fa}: ` +
    `accept when the LLR is at least ${fixed(inUnit(0 - odds), 3)}${data.unit.suffix} ` +
    `(prior ${oddsName} ${fixed(inUnit(odds + 0), 3)}${note}).`;
}

function atGrid(i, note) {
  const miss = readNumber(inputs.miss, positive);
  const fa = readNumber(inputs.fa, positive);
  if (Number.isNaN(miss + fa)) return;
  const odds = gridOdds(i);
  const prior = sigmoid(odds - Math.log(miss / fa));
  slider.value = i;
  slider.setAttribute("aria-valuetext", `${oddsName} ${fixed(inUnit(odds), 2)}`);
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
