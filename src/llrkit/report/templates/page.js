// Switches, colors, paper, downloads, and the start.
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

let closed = [];
function toPaper() {  // paper cannot be opened: everything is shown
  if (screenTheme !== null) return;
  screenTheme = theme;
  setTheme("light");
  closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach((part) => { part.open = true; });
  data.figures.forEach((_, i) => draw(i));
}
function toScreen() {
  if (screenTheme === null) return;
  setTheme(screenTheme);
  screenTheme = null;
  closed.forEach((part) => { part.open = false; });
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
