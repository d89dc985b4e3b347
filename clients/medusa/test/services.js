// Starts what the tests need: PostgreSQL of Debian and a Holdfast of its own, each in a folder that is removed at
// the end.
"use strict";
const { execFileSync, spawn } = require("node:child_process");
const { closeSync, existsSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync } = require("node:fs");
const { createServer } = require("node:net");
const { tmpdir } = require("node:os");
const { join, resolve } = require("node:path");

const holdfastProgram = resolve(process.env.HOLDFAST_BIN ?? join(__dirname, "../../../build/holdfast"));
const postgresFolder = readdir("/usr/lib/postgresql")
  .map(version => `/usr/lib/postgresql/${version}/bin`)
  .filter(existsSync)
  .pop();

/** The program takes each HOLDFAST_NAME for an option. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDFAST")));

/** What is missing, in words, or undefined. */
function missing() {
  if (!postgresFolder) return "PostgreSQL (apt-get install postgresql)";
  if (!existsSync(holdfastProgram)) return `${holdfastProgram} (make)`;
  if (!existsSync(join(__dirname, "../node_modules/@medusajs/framework")))
    return "Medusa (npm install in clients/medusa)";
  return undefined;
}

/** PostgreSQL refuses to run as root. */
const asPostgres = process.getuid() === 0 ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];

async function startPostgres() {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-medusa-pg-"));
  if (asPostgres.length) execFileSync("chown", ["postgres", folder]);
  const run = (program, ...args) => [...asPostgres, join(postgresFolder, program), ...args];
  const initdb = run(
    "initdb",
    "-D",
    folder,
    "-U",
    "postgres",
    "-A",
    "trust",
    "-E",
    "UTF8",
    "--no-sync",
    "--no-instructions"
  );
  execFileSync(initdb[0], initdb.slice(1), { stdio: ["ignore", "ignore", "inherit"] });
  const port = await freePort();
  const command = run(
    "postgres",
    "-D",
    folder,
    "-p",
    String(port),
    "-k",
    folder,
    "-c",
    "listen_addresses=127.0.0.1",
    "-c",
    "max_connections=300"
  );
  const server = await started(command, `${folder}.log`, /ready to accept connections/);
  return {
    url: database => `postgres://postgres@127.0.0.1:${port}/${database}`,
    port,
    async stop() {
      await ended(server, "SIGINT");
      for (const path of [folder, `${folder}.log`]) rmSync(path, { recursive: true, force: true });
    }
  };
}

async function startHoldfast(...options) {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-medusa-"));
  const command = [
    holdfastProgram,
    "serve",
    "--data",
    folder,
    "--listen",
    "127.0.0.1:0",
    "--jobs=expire,reap",
    "--stock-changed",
    ...options
  ];
  const server = await started(command, `${folder}.log`, /event=listening .*?(?:address|listen|on)=\S*?:(\d+)/);
  return {
    url: `http://127.0.0.1:${server.said[1]}`,
    /** Throws where an invariant is broken. */
    audit: () => execFileSync(holdfastProgram, ["audit", "--data", folder], { env, encoding: "utf8" }),
    async stop() {
      await ended(server, "SIGTERM");
      for (const path of [folder, `${folder}.log`]) rmSync(path, { recursive: true, force: true });
    }
  };
}

/** Runs `work` with both, and stops them whatever becomes of it. */
async function withServices(work) {
  const postgres = await startPostgres();
  try {
    const holdfast = await startHoldfast();
    try {
      return await work({ postgres, holdfast });
    } finally {
      await holdfast.stop();
    }
  } finally {
    await postgres.stop();
  }
}

/**
 * A process that has said that it is ready. It writes its log to a file, since a pipe that is not read stops it. The
 * whole log is shown if it ends before it is ready.
 */
async function started([program, ...args], log, ready) {
  const file = openSync(log, "w");
  const child = spawn(program, args, { env, stdio: ["ignore", "ignore", file] });
  closeSync(file);
  let failed;
  child.on("error", error => (failed = error));
  child.on("exit", code => (failed = new Error(`${program} has ended with ${code}:\n${readFileSync(log, "utf8")}`)));
  for (;;) {
    child.said = ready.exec(readFileSync(log, "utf8"));
    if (child.said) return child;
    if (failed) throw failed;
    await new Promise(resolve => setTimeout(resolve, 20));
  }
}

function ended(child, signal) {
  return new Promise(resolve => {
    child.removeAllListeners("exit");
    child.on("exit", resolve);
    child.kill(signal);
  });
}

function freePort() {
  return new Promise(resolve => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function readdir(folder) {
  return existsSync(folder) ? readdirSync(folder).sort((a, b) => a - b) : [];
}

module.exports = { freePort, missing, startPostgres, withServices };
