import init from "./highwater_web.js";

await init();
