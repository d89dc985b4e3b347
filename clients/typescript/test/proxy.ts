// Stands between clients and the service, and does to requests what a network may do: it loses them, loses or cuts off
// their answers, delays them, and sends them twice, at once or much later. It never calls resetAndDestroy: after that,
// Node 20 may spin for ever at its end.
import { Agent, createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { sleep } from "./stage.js";

/** What may be done to a request. */
export const FAULTS = ["lose", "mute", "cut", "delay", "late", "twice", "again"] as const;
export type Fault = (typeof FAULTS)[number];

export class Proxy {
  /** How many connections clients have opened, and how many requests came on them. */
  connections = 0;
  requests = 0;
  readonly done: Record<string, number> = {};
  /** The fault of a request, or none. It may change at any time. */
  fault: (request: IncomingMessage) => Fault | undefined = () => undefined;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 200 });
  readonly #sockets = new Set<Socket>();
  readonly #behind: Promise<unknown>[] = [];
  readonly #server = createServer((from, to) => void this.#pass(from, to));

  static async start(to: string): Promise<Proxy> {
    const proxy = new Proxy(new URL(to));
    await new Promise<void>(resolve => proxy.#server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  private constructor(private readonly to: URL) {
    this.#server.keepAliveTimeout = 60_000;
    this.#server.on("connection", socket => {
      this.connections++;
      this.#sockets.add(socket.once("close", () => this.#sockets.delete(socket)));
    });
  }

  get address(): string { return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`; }

  /** Every connection there is. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Every copy of a request has come to its end. */
  async settled(): Promise<void> {
    await Promise.all(this.#behind);
  }

  async end(): Promise<void> {
    await this.settled();
    this.#server.close();
    this.cut();
    this.#agent.destroy();
  }

  async #pass(from: IncomingMessage, to: ServerResponse): Promise<void> {
    this.requests++;
    const body = Buffer.concat(await from.toArray().catch(() => []));
    const fault = this.fault(from);
    if (fault) this.done[fault] = (this.done[fault] ?? 0) + 1;
    if (fault === "lose") return void to.socket?.destroy();
    if (fault === "delay") await sleep(100 + Math.random() * 400);
    const first = this.#send(from, body);
    this.#behind.push(first.catch(() => undefined));
    const second = fault === "twice" ? this.#send(from, body)
      : fault === "again" ? sleep(Math.random() * 3000).then(() => this.#send(from, body)) : undefined;
    if (second) this.#behind.push(second.catch(() => undefined));
    const answer = await first.catch(() => undefined);
    if (fault === "late") await sleep(2000 + Math.random() * 2000);
    if (!answer || fault === "mute") return void to.socket?.destroy();
    to.writeHead(answer.status, answer.headers);
    if (fault !== "cut") return void to.end(answer.body);
    to.write(answer.body.subarray(0, answer.body.length / 2), () => to.socket?.destroy());
  }

  #send(from: IncomingMessage, body: Buffer): Promise<{ status: number; headers: string[]; body: Buffer }> {
    return new Promise((resolve, reject) => {
      const { method, url, headers } = from;
      const asked = request(new URL(url!, this.to), { method, agent: this.#agent, headers }, got => {
        const head = { status: got.statusCode!, headers: got.rawHeaders };
        got.toArray().then(parts => resolve({ ...head, body: Buffer.concat(parts) }), reject);
      });
      asked.on("error", reject).end(body);
    });
  }
}
