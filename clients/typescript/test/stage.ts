// What the tests stand on: the real service with its private database, and the kills of both.
import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const PROGRAM = process.env["HOLDFAST_BIN"] ?? join(ROOT, "build/holdfast");
/** The program takes HOLDFAST_BIN for an option, and knows no such one. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("HOLDFAST_")));
const START_MS = 60_000;

/** `holdfast serve` on a folder of its own, always at the same address. */
export class Service {
  readonly folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "holdfast-"));
  address = "";
  #log = "";
  #process: ChildProcess | undefined;

  private constructor(private readonly flags: string[]) {
    process.once("exit", () => this.vanish());
  }

  static async start(...flags: string[]): Promise<Service> {
    const service = new Service([...flags, "--listen", `127.0.0.1:${await freePort()}`]);
    await service.start();
    return service;
  }

  async start(): Promise<void> {
    const words = ["serve", "--data", this.data, ...this.flags];
    const child = spawn(PROGRAM, words, { env, stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    this.address = await new Promise((resolve, reject) => {
      const say = (why: string) => reject(new Error(`${PROGRAM} ${why}\n${this.#log.slice(-2000)}`));
      const timer = setTimeout(() => say("does not start"), START_MS);
      const from = this.#log.length;
      child.once("exit", status => say(`ended with ${status}`)).once("error", reject);
      child.stderr!.setEncoding("utf8").on("data", (text: string) => {
        const at = /event=listening address=(\S+)/.exec((this.#log += text).slice(from));
        if (at) { clearTimeout(timer); resolve(`http://${at[1]}`); }
      });
    });
  }

  get data(): string { return join(this.folder, "data"); }

  /** kill -9, as the kernel does it when memory is short. */
  async kill(): Promise<void> {
    await ended(this.#process!, "SIGKILL");
  }

  pause(): void { this.#process!.kill("SIGSTOP"); }
  resume(): void { this.#process!.kill("SIGCONT"); }

  /** kill -9 of the private database. The service starts it again. */
  killDatabase(): void {
    process.kill(Number(readFileSync(join(this.data, "mariadbd.pid"), "utf8")), "SIGKILL");
  }

  /** Nothing stays behind, however the test ends. */
  vanish(): void {
    if (!existsSync(this.folder)) return;
    this.#process?.kill("SIGKILL");
    try { this.killDatabase(); } catch { /* there is none */ }
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Ends the service, has `holdfast audit` look at what it leaves, and removes its folder. */
  async end(): Promise<void> {
    try {
      const status = await ended(this.#process!, "SIGTERM");
      if (status !== 0) throw new Error(`the service ended with ${status}\n${this.#log.slice(-2000)}`);
      execFileSync(PROGRAM, ["audit", "--data", this.data], { env, stdio: ["ignore", "pipe", "pipe"] });
    } finally {
      this.vanish();
    }
  }
}

function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  return new Promise(resolve => { child.once("exit", resolve); child.kill(signal); });
}

/** A port that the system gives to no program that asks for any: it stays free while the service is down. */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const free = await new Promise<boolean>(resolve => {
      const server = createServer().once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

export const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms));

/** Waits until `what` gives something. */
export async function until<T>(what: () => Promise<T | undefined | false>, withinMs = 30_000): Promise<T> {
  for (const ends = Date.now() + withinMs; ;) {
    const found = await what();
    if (found) return found;
    if (Date.now() > ends) throw new Error(`not so within ${withinMs} ms: ${what}`);
    await sleep(20);
  }
}
