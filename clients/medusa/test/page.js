// Follows README.md from an empty folder to a shop: its commands are run as they stand, but for addresses and folders.
// It loads 700 MB from npm and takes some minutes.   node test/page.js
"use strict";
const assert = require("node:assert/strict");
const { spawn, spawnSync } = require("node:child_process");
const { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } = require("node:fs");
const { tmpdir } = require("node:os");
const { join, resolve } = require("node:path");
const { freePort, missing, startPostgres } = require("./services");

const home = resolve(__dirname, "../../..");

async function main() {
  const lacks = missing();
  if (lacks) return console.log(`skipped: the page, as there is no ${lacks}`);
  const postgres = await startPostgres();
  const folder = mkdtempSync(join(tmpdir(), "holdfast-medusa-page-"));
  const [holdfastPort, medusaPort] = [await freePort(), await freePort()];
  const here = text =>
    text
      .replaceAll("127.0.0.1:8080", `127.0.0.1:${holdfastPort}`)
      .replaceAll("127.0.0.1:9000", `127.0.0.1:${medusaPort}`)
      .replaceAll("postgres://localhost/", postgres.url(""))
      .replaceAll("./var", join(folder, "var"))
      .replaceAll("../shop", join(folder, "shop"));
  const env = { ...process.env, PORT: String(medusaPort), MEDUSA_DISABLE_TELEMETRY: "1" };
  delete env.HOLDFAST_BIN; // the program takes each HOLDFAST_NAME for an option
  const holdfast = spawn("bash", ["-c", `exec ${here(block("stays until event=listening"))}`], {
    cwd: home,
    env: { ...env, HOLDFAST_LISTEN: `127.0.0.1:${holdfastPort}` },
    stdio: ["ignore", "ignore", "inherit"]
  });
  try {
    const shop = join(folder, "shop");
    mkdirSync(shop);
    run(here(block("").match(/^npm pack .*/m)[0]), home);
    writeFileSync(join(shop, "medusa-config.js"), here(block("file medusa-config.js")));
    const script = `set -em\n${blocks("shop").map(here).join("\n")}\nkill -- -$!`;
    const said = run(script, shop);
    assert.deepEqual(plain(said), plain(page.match(/```json\n(.*?)```/s)[1]));
    console.log("the page is true");
  } finally {
    holdfast.kill("SIGTERM");
    await new Promise(resolve => holdfast.on("exit", resolve));
    await postgres.stop();
    rmSync(folder, { recursive: true, force: true });
  }

  function run(script, cwd) {
    const { status, stdout } = spawnSync("bash", ["-c", script], {
      cwd,
      env,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"]
    });
    assert.equal(status, 0, `${script}\n${stdout}`);
    return stdout;
  }
}

const page = readFileSync(join(__dirname, "../README.md"), "utf8");

/** The blocks of commands that are marked so, and the first of them. */
function blocks(mark) {
  const found = [...page.matchAll(/(?:<!-- test: (.*?) -->\n)?```(?:sh|js)\n(.*?)```/gs)];
  return found.filter(([, said = ""]) => said === mark).map(([, , text]) => text);
}

function block(mark) {
  return blocks(mark)[0];
}

/** Lines, with any id in place of a certain one. */
function plain(text) {
  return text
    .replace(/\b(sloc|iitem|ilev|resitem)_\w+/g, "$1_")
    .trim()
    .split("\n");
}

main();
