// Loads the lab. What must work even when the lab does not is here: to say so, and to load it again.
import init from "./highwater_web.js";

const broken = document.getElementById("broken");
document.getElementById("broken-reload").addEventListener("click", () => location.reload());
document.getElementById("broken-link").href = location.hash || "#";

try {
  await init({ module_or_path: new URL("highwater_web_bg.wasm", import.meta.url) });
} catch (error) {
  if (broken.hidden) {
    document.getElementById("broken-text").textContent = `The lab could not be started: ${error}`;
    broken.hidden = false;
  }
}
