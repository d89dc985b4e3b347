// What no real service does: answers that are slow, cut off, huge, or of something else. A server here gives them.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { Holdfast, HoldfastError, type Settings } from "holdfast";
import { sleep, until } from "./stage.js";

type Reply = (to: ServerResponse, from: IncomingMessage) => unknown;
const ORDER = { order_id: "R1", state: "held", lines: [] };
const MUG = { lines: [{ sku: "MUG", qty: 1 }] };

class Fake {
  /** One a request; the last one again and again. */
  replies: Reply[] = [];
  seen: { method: string; url: string; body: string; at: number; id: string }[] = [];
  address = "";
  readonly #server = createServer(async (from, to) => {
    const body = Buffer.concat(await from.toArray().catch(() => [])).toString();
    const { method, url, headers } = from;
    this.seen.push({ method: method!, url: url!, body, at: performance.now(), id: String(headers["x-request-id"]) });
    await (this.replies.length > 1 ? this.replies.shift()! : this.replies[0]!)(to, from);
  });

  async start(): Promise<void> {
    await new Promise<void>(resolve => this.#server.listen(0, "127.0.0.1", resolve));
    this.address = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  client(settings: Settings = {}): Holdfast { return new Holdfast(this.address, settings); }

  end(): void { this.#server.close().closeAllConnections(); }
}

/** They wait most of the time, so they run side by side, each with a server of its own. */
function test(name: string, body: (of: Fake) => Promise<void>): void {
  it(name, async () => {
    const fake = new Fake();
    await fake.start();
    await body(fake).finally(() => fake.end());
  });
}

const json = (status: number, body: unknown, headers: Record<string, string> = {}): Reply => to =>
  to.writeHead(status, { "Content-Type": status < 300 ? "application/json" : "application/problem+json", ...headers })
    .end(typeof body === "string" ? body : JSON.stringify(body));
const problem = (status: number, code: string, headers: Record<string, string> = {}) =>
  json(status, { type: `/problems/${code}`, title: "No", status, detail: "why", code }, headers);
const good = json(201, ORDER);
const html = (status: number, headers: Record<string, string> = {}): Reply => to =>
  to.writeHead(status, { "Content-Type": "text/html", ...headers }).end("<h1>hello</h1>");
const reset: Reply = to => to.socket?.destroy();
const silent: Reply = () => undefined;

async function refused(call: Promise<unknown>): Promise<HoldfastError> {
  const thrown = await call.then(() => assert.fail("it was no error"), (error: unknown) => error);
  assert.ok(thrown instanceof HoldfastError, String(thrown));
  return thrown;
}
/** Other programs may keep the machine busy: of several times the least counts. */
async function least(ms: number, call: () => Promise<unknown>): Promise<void> {
  const all: number[] = [];
  while (all.length < 20 && !all.some(one => one < ms)) all.push(await took(call));
  assert.ok(all.some(one => one < ms), `${all}`);
}

const took = async (call: () => Promise<unknown>) => {
  const began = performance.now();
  await call();
  return performance.now() - began;
};

describe("answers", { concurrency: true }, () => {
  test("a lost answer: the same call again", async of => {
    of.replies = [reset, reset, good];
    assert.equal((await of.client().reserve(MUG)).order_id, "R1");
    assert.equal(of.seen.length, 3);
    assert.equal(new Set(of.seen.map(one => one.body)).size, 1, "the id stays the same");
    assert.match(JSON.parse(of.seen[0]!.body).order_id, /^[0-9a-f-]{36}$/);
    assert.equal(new Set(of.seen.map(one => one.id)).size, 1);
    assert.ok(of.seen[2]!.at - of.seen[1]!.at > 450);
  });

  test("the first time it is sent again at once", async of => {
    await least(200, async () => {
      of.replies = [reset, good];
      await of.client().reserve(MUG);
    });
  });

  test("no answer at all: the error says that it may be done, with the id that was made", async of => {
    of.replies = [reset];
    const error = await refused(of.client({ deadlineMs: 10_000 }).reserve(MUG));
    assert.deepEqual([error.code, error.status, error.maybeDone, error.tries >= 2], ["no_answer", 0, true, true]);
    assert.equal((error.sent as { order_id: string }).order_id, JSON.parse(of.seen[0]!.body).order_id);
    assert.ok(error.cause instanceof Error);
  });

  test("ids that the caller gives stay; items of a batch get theirs", async of => {
    of.replies = [json(200, { results: [] })];
    await of.client().reserveMany({ reservations: [{ order_id: "A", ...MUG }, MUG] });
    const [first, second] = JSON.parse(of.seen[0]!.body).reservations;
    assert.equal(first.order_id, "A");
    assert.equal(second.order_id.length, 36);
  });

  const again = [[503, "busy"], [503, "unavailable"], [503, "unknown_outcome"], [429, "rate_limited"]] as const;
  for (const [status, code] of again)
    test(`${status} ${code}: again after Retry-After`, async of => {
      of.replies = [problem(status, code, { "Retry-After": "1" }), good];
      await of.client().reserve(MUG);
      assert.ok(of.seen[1]!.at - of.seen[0]!.at >= 995);
      assert.equal(of.seen[0]!.body, of.seen[1]!.body);
    });

  test("Retry-After as a date; one that has passed", async of => {
    const inTwo = () => problem(503, "busy", { "Retry-After": new Date(Date.now() + 2000).toUTCString() });
    of.replies = [(to, from) => inTwo()(to, from), good];
    await of.client().reserve(MUG);
    assert.ok(of.seen[1]!.at - of.seen[0]!.at > 900);
    await least(200, async () => {
      of.replies = [problem(503, "busy", { "Retry-After": new Date(0).toUTCString() }), good];
      await of.client().reserve(MUG);
    });
  });

  test("503 without Retry-After, or with nonsense: after the client's own pauses", async of => {
    of.replies = [problem(503, "busy"), problem(503, "busy", { "Retry-After": "1.5" }),
      problem(503, "busy", { "Retry-After": "soon" }), good];
    await of.client().reserve(MUG);
    assert.ok(of.seen[2]!.at - of.seen[1]!.at > 450);
    assert.ok(of.seen[3]!.at - of.seen[2]!.at > 950);
  });

  test("a Retry-After beyond the deadline: the refusal at once", async of => {
    of.replies = [problem(429, "rate_limited", { "Retry-After": "3600" })];
    const ms = await took(async () => {
      const error = await refused(of.client().reserve(MUG));
      assert.deepEqual([error.code, error.retryAfterS, error.tries, error.maybeDone], ["rate_limited", 3600, 1, false]);
    });
    assert.ok(ms < 20_000);
  });

  test("the last refusal is told when the time is over; a lost try before it stays a doubt", async of => {
    of.replies = [reset, problem(503, "unavailable", { "Retry-After": "4" })];
    const error = await refused(of.client({ deadlineMs: 10_000 }).reserve(MUG));
    assert.deepEqual([error.code, error.status, error.maybeDone], ["unavailable", 503, true]);
  });

  for (const [status, code] of [[400, "invalid_request"], [401, "unauthorized"], [404, "unknown_order"], [409, "short"],
    [413, "too_large"], [422, "order_id_reused"]] as const)
    test(`${status} ${code}: not again`, async of => {
      of.replies = [problem(status, code, { "Retry-After": "0" })];
      const error = await refused(of.client().reserve(MUG));
      assert.deepEqual([error.code, error.status, error.tries, of.seen.length], [code, status, 1, 1]);
    });

  test("an error has the lines, the field and the header of a repeat", async of => {
    const lines = [{ sku: "MUG", location: "main", requested: 2, available: 1 }];
    of.replies = [json(409, { code: "short", detail: "not enough units", lines, field: "lines[0]" },
      { "Idempotent-Replayed": "true", "X-Request-Id": "of the proxy" })];
    const error = await refused(of.client().reserve(MUG));
    assert.deepEqual(error.lines, lines);
    assert.deepEqual([error.field, error.replayed, error.requestId], ["lines[0]", true, "of the proxy"]);
    assert.equal(error.message, "short: not enough units");
    assert.equal(error.problem["code"], "short");
  });

  test("calls without an id: once, unless it is certain that nothing was done", async of => {
    const calls = [(one: Holdfast) => one.claim({ kind: "settle", worker: "w" }), (one: Holdfast) => one.kickMany(),
      (one: Holdfast) => one.pingWebhook("w"), (one: Holdfast) => one.rotateWebhook("w"),
      (one: Holdfast) => one.enableWebhook("w", { skip: true })];
    for (const call of calls) {
      for (const lost of [reset, html(502), problem(503, "unknown_outcome", { "Retry-After": "0" })]) {
        of.replies = [lost, good];
        of.seen = [];
        const error = await refused(call(of.client()));
        assert.deepEqual([error.maybeDone, of.seen.length], [true, 1]);
      }
      const soon = { "Retry-After": "0" };
      of.replies = [problem(503, "busy", soon), problem(429, "rate_limited", soon), good];
      await call(of.client());
    }
  });

  test("nobody listens, or the name is unknown: again, and nothing is in doubt", async () => {
    for (const nowhere of ["http://127.0.0.1:4", "http://holdfast.invalid:8080"]) {
      const error = await refused(new Holdfast(nowhere, { deadlineMs: 10_000 }).claim({ kind: "settle", worker: "w" }));
      assert.deepEqual([error.code, error.maybeDone], ["no_answer", false], error.message);
      assert.match(error.message, /ECONNREFUSED|ENOTFOUND|EAI_AGAIN/);
      assert.ok(error.tries >= 2);
    }
  });

  test("no TLS where TLS is asked for: not again", async of => {
    const error = await refused(new Holdfast(of.address.replace("http", "https")).reserve(MUG));
    assert.deepEqual([error.code, error.tries, error.maybeDone], ["no_answer", 1, false], error.message);
  });

  test("a service that stays silent: tries have their time, and the call has its own", async of => {
    of.replies = [silent, good];
    const ms = await took(() => of.client({ tryMs: 300 }).reserve(MUG));
    assert.ok(ms > 290 && ms < 10_000, `${ms}`);
    of.replies = [silent];
    const late = await took(() => refused(of.client({ deadlineMs: 500 }).reserve(MUG)));
    assert.ok(late > 490 && late < 10_000, `${late}`);
  });

  test("a slow body: the time of the try and the deadline include it", async of => {
    const slow: Reply = async to => {
      to.writeHead(200, { "Content-Type": "application/json" });
      for (let i = 0; i < 100 && !to.destroyed; i++) { to.write(" "); await sleep(50); }
      to.end("{}");
    };
    of.replies = [slow, good];
    assert.equal((await of.client({ tryMs: 300 }).reserve(MUG)).order_id, "R1");
    of.replies = [slow];
    const ms = await took(() => refused(of.client({ deadlineMs: 400 }).reserve(MUG)));
    assert.ok(ms < 4500, "not the five seconds of the body");
  });

  test("a body byte by byte is read right, in the middle of characters, too", async of => {
    of.replies = [async to => {
      to.writeHead(200, { "Content-Type": "application/json" });
      for (const byte of Buffer.from(JSON.stringify({ ...ORDER, reference: "Grüße, 注文 🧾" }))) {
        to.write(Buffer.of(byte));
        await sleep(1);
      }
      to.end();
    }];
    assert.equal((await of.client().reserve(MUG)).reference, "Grüße, 注文 🧾");
  });

  test("a body that ends early: by its length, by its chunks, by its text", async of => {
    const short: Reply = to => {
      to.writeHead(200, { "Content-Type": "application/json", "Content-Length": "100" }).write("{\"order_id\":");
      setTimeout(() => to.destroy(), 20);
    };
    const chunk: Reply = to => {
      to.writeHead(200, { "Content-Type": "application/json" }).write("{\"order_id\":");
      setTimeout(() => to.destroy(), 20);
    };
    for (const broken of [short, chunk, json(200, "{\"order_id\":"), json(200, ""), json(409, "{\"code\":\"sho")]) {
      of.replies = [broken, good];
      of.seen = [];
      assert.equal((await of.client().reserve(MUG)).order_id, "R1");
      assert.equal(of.seen.length, 2);
    }
  });

  test("gateways that lost an answer: again; other answers of no Holdfast: not", async of => {
    of.replies = [html(502), html(504), html(408), good];    // 408: to a connection that was idle until this call came
    await of.client().reserve(MUG);
    assert.equal(of.seen.length, 4);
    of.replies = [html(503, { "Retry-After": "0" }), html(429, { "Retry-After": "0" }), good];
    await of.client().reserve(MUG);
    for (const [status, doubt] of [[200, true], [404, false], [403, false], [500, true]] as const) {
      of.replies = [html(status)];
      of.seen = [];
      const error = await refused(of.client().reserve(MUG));
      assert.deepEqual([error.code, error.status, error.maybeDone, of.seen.length], ["bad_answer", status, doubt, 1]);
    }
  });

  test("a gateway's JSON has a code, too: 408, 502 and 504 lost an answer, 500 is no refusal of Holdfast", async of => {
    for (const status of [408, 502, 504]) {
      of.replies = [json(status, { code: "UPSTREAM_TIMEOUT", message: "late" }), good];
      assert.equal((await of.client().reserve(MUG)).order_id, "R1");
      of.replies = [json(status, { code: "short", detail: "not enough units" }), problem(409, "short")];
      const error = await refused(of.client().reserve(MUG));
      assert.deepEqual([error.code, error.status, error.maybeDone, error.tries], ["short", 409, true, 2]);
      of.replies = [json(status, { code: "busy" })];
      const lost = await refused(of.client().claim({ kind: "settle", worker: "w" }));
      assert.deepEqual([lost.code, lost.status, lost.maybeDone, lost.tries], ["no_answer", status, true, 1]);
    }
    of.replies = [problem(500, "short", { "Retry-After": "0" })];
    const error = await refused(of.client().reserve(MUG));
    assert.deepEqual([error.code, error.status, error.maybeDone, error.tries], ["bad_answer", 500, true, 1]);
  });

  test("503 with a code that Holdfast does not have: again, and in doubt; 429: nothing was done", async of => {
    of.replies = [problem(503, "no_healthy_upstream"), good];
    assert.equal((await of.client().reserve(MUG)).order_id, "R1");
    of.replies = [problem(503, "no_healthy_upstream"), problem(409, "short")];
    const error = await refused(of.client().reserve(MUG));
    assert.deepEqual([error.code, error.maybeDone, error.tries], ["short", true, 2]);
    of.replies = [json(503, { code: "no_healthy_upstream" }), good];
    const once = await refused(of.client().claim({ kind: "settle", worker: "w" }));
    assert.deepEqual([once.code, once.maybeDone, once.tries], ["no_healthy_upstream", true, 1]);
    assert.ok(!once.message.includes("undefined"), once.message);
    of.replies = [json(429, { code: "too_many" }, { "Retry-After": "0" }), problem(409, "short")];
    assert.equal((await refused(of.client().reserve(MUG))).maybeDone, false);
  });

  test("Retry-After: 0 is no busy loop", async of => {
    of.replies = [...Array.from({ length: 5 }, () => problem(503, "busy", { "Retry-After": "0" })), good];
    await of.client().reserve(MUG);
    assert.equal(of.seen.length, 6);
    of.seen.slice(1).forEach((one, i) => assert.ok(one.at - of.seen[i]!.at >= 95, `${one.at - of.seen[i]!.at} ms`));
  });

  test("Retry-After as a date of a service with another clock", async of => {
    const day = 86_400_000, date = (ms: number) => new Date(Date.now() - day + ms).toUTCString();
    of.replies = [(to, from) => problem(503, "busy", { "Date": date(0), "Retry-After": date(2000) })(to, from), good];
    await of.client().reserve(MUG);
    assert.ok(of.seen[1]!.at - of.seen[0]!.at > 1990, `${of.seen[1]!.at - of.seen[0]!.at} ms`);
  });

  test("JSON that is no object: not an answer of Holdfast", async of => {
    of.replies = [json(200, "[]"), good];
    assert.equal((await of.client().reserve(MUG)).order_id, "R1");
  });

  test("a redirect is not followed, so that the key goes nowhere else", async of => {
    for (const status of [301, 302, 303, 307, 308]) {
      of.replies = [html(status, { Location: `${of.address}/v1/elsewhere` }), good];
      of.seen = [];
      const error = await refused(of.client({ key: "secret" }).reserve(MUG));
      assert.deepEqual([error.code, error.status, of.seen.length], ["bad_answer", status, 1]);
    }
  });

  test("the caller aborts: before, in a try, in its body, in a pause; its own reason is thrown", async of => {
    const reason = new Error("the customer has left");
    const body: Reply = to => to.writeHead(200, { "Content-Type": "application/json" }).write("{");
    for (const reply of [good, silent, body, problem(503, "busy", { "Retry-After": "5" })]) {
      of.replies = [reply];
      of.seen = [];
      const ender = new AbortController();
      if (reply === good) ender.abort(reason);
      else void until(async () => of.seen.length).then(() => sleep(100)).then(() => ender.abort(reason));
      await assert.rejects(of.client().reserve(MUG, { signal: ender.signal }), error => error === reason);
      assert.equal(of.seen.length, reply === good ? 0 : 1);
    }
  });

  test("one signal for many calls at once: one listener, so Node has nothing to warn of", async of => {
    of.replies = [async to => { await sleep(50); await good(to, undefined as never); }];
    const warnings: Error[] = [], warn = (warning: Error) => warnings.push(warning);
    const ender = new AbortController(), { signal } = ender;
    process.on("warning", warn);
    const calls = Array.from({ length: 30 }, () => of.client().reserve(MUG, { signal }));
    await until(async () => of.seen.length > 20);
    assert.equal(getEventListeners(signal, "abort").length, 1);
    await Promise.all(calls);
    of.replies = [problem(503, "busy", { "Retry-After": "9" })];
    const paused = Array.from({ length: 30 }, () => refused(of.client().reserve(MUG, { signal })).catch(String));
    await until(async () => of.seen.length === 60);
    await sleep(100);
    assert.equal(getEventListeners(signal, "abort").length, 1);
    ender.abort(new Error("enough"));
    assert.deepEqual(new Set(await Promise.all(paused)), new Set(["AssertionError [ERR_ASSERTION]: Error: enough"]));
    assert.equal(getEventListeners(signal, "abort").length, 0);
    process.off("warning", warn);
    assert.deepEqual(warnings, []);
  });

  test("parts of a path and queries are encoded, and cannot become another call", async of => {
    of.replies = [json(200, { items: [], next_cursor: null })];
    await of.client().reservation("gid://shopify/Order/1#?%");
    await of.client().customer("Tasse weiß", "5 f");
    await of.client().skus({ prefix: "A B+C", limit: 5, low: "true" }).page();
    await new Holdfast(`${of.address}/shop/?x=1`).key();
    assert.deepEqual(of.seen.map(one => `${one.method} ${one.url}`), [
      "GET /v1/reservations/gid%3A%2F%2Fshopify%2FOrder%2F1%23%3F%25", "GET /v1/skus/Tasse%20wei%C3%9F/customers/5%20f",
      "GET /v1/skus?prefix=A%20B%2BC&limit=5&low=true", "GET /shop/v1/key"]);
    of.seen = [];
    for (const part of ["", ".", ".."]) {
      const error = await refused(of.client().release(part));
      assert.deepEqual([error.code, error.field], ["invalid_request", "order_id"]);
      await refused(of.client().history(part).page());
    }
    assert.equal(of.seen.length, 0);
  });

  test("an address or a key that cannot be is refused at once", async of => {
    for (const bad of ["", "shop", "http://user:word@127.0.0.1/"]) assert.throws(() => new Holdfast(bad), TypeError);
    assert.throws(() => new Holdfast(of.address, { key: "two\nlines" }), TypeError);
  });
});

// It keeps the processor, and would make the others late.
test("a huge answer is read, an endless one is not", async of => {
  const items = Array.from({ length: 100_000 }, (_, i) => ({ sku: `S${i}`, available: i, reserved: 0, on_hand: i }));
  of.replies = [json(200, { items, next_cursor: null })];
  assert.equal((await of.client().skus().page()).items.length, 100_000);
  const chunk = Buffer.alloc(1 << 20, " ");
  of.replies = [async to => {
    to.writeHead(200, { "Content-Type": "application/json" });
    while (!to.destroyed) if (!to.write(chunk)) await sleep(1);
  }];
  const error = await refused(of.client({ tryMs: 60_000, deadlineMs: 60_000 }).skus().page());
  assert.deepEqual([error.message, error.tries], ["bad_answer: the answer is too large", 1]);
});
