// Loads the lab. What must work even when the lab does not is here: to say so in the place of every
// scene, with the link that leads back and a way to begin again.
import init from "./highwater_web.js";

const folder = new URL(".", import.meta.url).href;
let stopped = false;

// The first trouble is the one that is told: what follows comes of it.
function tell(why) {
  if (stopped) return;
  stopped = true;
  // A page of the book has figures, and no links to their places.
  for (const scene of document.querySelectorAll("[data-scene], [data-figure]")) {
    const message = document.getElementById("broken").content.cloneNode(true);
    message.querySelector(".why").textContent = why;
    const link = message.querySelector("a");
    if (link) {
      link.hash = scene.dataset.link ?? location.hash;
      link.addEventListener("click", (event) => open(event, link.hash));
    }
    const hash = link ? beginning(link.hash) : location.hash;
    message.querySelector("button").addEventListener("click", (event) => open(event, hash));
    scene.replaceChildren(message);
  }
}

// The same scene from its start.
function beginning(hash) {
  const scene = new URLSearchParams(hash.slice(1)).get("scene");
  return scene ? `#scene=${scene}` : "";
}

// Another `#` alone would not load a page that has stopped.
function open(event, hash) {
  event.preventDefault();
  history.replaceState(null, "", location.pathname + location.search + hash);
  location.reload();
}

// A panic says what it was; an exception that comes without one says less.
addEventListener("highwater-panic", (event) => tell(event.detail));
addEventListener("error", (event) => {
  if (event.filename?.startsWith(folder)) tell(event.message);
});

try {
  await init({ module_or_path: new URL("highwater_web_bg.wasm", import.meta.url) });
} catch (error) {
  tell(`It could not be started: ${error}`);
}
