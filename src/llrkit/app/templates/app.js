"use strict";
// Everything works with plain forms; this adds sending of files, progress without reloading, and copying.
(() => {
  const main = document.querySelector("main");

  const drop = document.querySelector(".drop");
  if (drop) {
    const said = document.getElementById("sent");
    const most = Number(drop.dataset.most);
    const tell = (text) => { said.textContent = text; };
    const send = (file) => new Promise((done) => {
      if (file.size > most) {
        tell(`${file.name} is too large.`);
        done(false);
        return;
      }
      const request = new XMLHttpRequest();
      request.open("PUT", `${drop.dataset.upload}?name=${encodeURIComponent(file.name)}`);
      request.upload.addEventListener("progress", (event) => {
        if (event.lengthComputable) { tell(`Sending ${file.name}: ${Math.round(100 * event.loaded / event.total)} %`); }
      });
      request.addEventListener("load", () => {
        if (request.status === 200) { done(true); return; }
        let why = "it was refused";
        try { why = JSON.parse(request.responseText).error; } catch { /* a page, not an answer */ }
        tell(`${file.name} was not taken: ${why}`);
        done(false);
      });
      request.addEventListener("error", () => { tell(`${file.name} could not be sent.`); done(false); });
      request.setRequestHeader("Content-Type", "application/octet-stream");
      request.send(file);
    });
    const sendAll = async (files) => {
      let all = true;
      for (const file of files) { all = await send(file) && all; }
      if (all && files.length) { location.reload(); }
      else if (files.length) { watch(); }
    };
    document.getElementById("pick").addEventListener("change", (event) => sendAll([...event.target.files]));
    for (const name of ["dragenter", "dragover"]) {
      drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.add("over"); });
    }
    for (const name of ["dragleave", "drop"]) {
      drop.addEventListener(name, (event) => { event.preventDefault(); drop.classList.remove("over"); });
    }
    drop.addEventListener("drop", (event) => sendAll([...event.dataTransfer.files]));
    for (const name of ["dragover", "drop"]) { window.addEventListener(name, (event) => event.preventDefault()); }
  }

  async function watch() {
    for (;;) {
      await new Promise((later) => setTimeout(later, 300));
      let jobs;
      try {
        const answer = await fetch(main.dataset.jobs);
        if (!answer.ok) { return; }
        jobs = await answer.json();
      } catch { return; }
      for (const box of document.querySelectorAll("[data-job]")) {
        const job = jobs.find((one) => one.id === box.dataset.job);
        if (!job || (job.state !== "waiting" && job.state !== "running")) {
          sessionStorage.setItem("look", job && job.state === "done" ? "result" : "alert");
          location.reload();
          return;
        }
        const what = job.state === "waiting" ? "Waiting for other work" : `Working: ${job.what}`;
        const line = box.querySelector(".what");
        if (line.textContent !== what) { line.textContent = what; }
        const bar = box.querySelector("progress");
        if (job.share === null) { bar.removeAttribute("value"); } else { bar.value = job.share; }
      }
    }
  }
  if (main && main.dataset.running) { watch(); }

  // after the work, the reader is taken to what came of it
  const look = sessionStorage.getItem("look");
  sessionStorage.removeItem("look");
  const target = look === "result" ? document.getElementById("result") : look && document.querySelector(".alert");
  const error = document.getElementById("error");
  if (target || error) { (target || error).focus(); }

  for (const button of document.querySelectorAll(".copy")) {
    if (!navigator.clipboard) { continue; }
    button.hidden = false;
    button.addEventListener("click", async () => {
      const lines = [...button.parentElement.querySelectorAll("code")].map((code) => code.textContent);
      await navigator.clipboard.writeText(lines.join("\n"));
      button.textContent = "Copied";
    });
  }
})();
