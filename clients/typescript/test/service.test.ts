// The client on the real service: calls, lists, the feed, webhooks, connections, and the programs of the documents.
import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { type Event, Holdfast, HoldfastError, Receiver } from "holdfast";
import { Proxy } from "./proxy.js";
import { ROOT, Service, sleep, until } from "./stage.js";

let service: Service, holdfast: Holdfast;

before(async () => {
  service = await Service.start("--jobs=expire,reap,deliver", "--webhooks-allow=127.0.0.1/32", "--idle-timeout=1");
  holdfast = new Holdfast(service.address);
});
after(() => service?.end());

async function refused(call: Promise<unknown>): Promise<HoldfastError> {
  const thrown = await call.then(() => assert.fail("it was no error"), (error: unknown) => error);
  assert.ok(thrown instanceof HoldfastError, String(thrown));
  return thrown;
}

test("every call of the contract has a name, and every name is a call of the contract", async () => {
  const contract = readFileSync(join(ROOT, "api/openapi.yaml"), "utf8");
  const paths = contract.slice(contract.indexOf("\npaths:\n"), contract.indexOf("\ncomponents:\n"));
  const known = [...paths.matchAll(/^ {2}(\/v1\/\S+):\n((?: {4}.*\n|\n)*)/gm)].flatMap(([, path, body]) =>
    [...body!.matchAll(/^ {4}(get|put|post|delete|patch):/gm)].map(([, verb]) => `${verb!.toUpperCase()} ${path}`));
  const said: string[] = [];
  const spy = new Holdfast("http://127.0.0.1", {
    fetch: async (url, request) => {
      said.push(`${request!.method} ${new URL(String(url)).pathname}`);
      return Response.json({ items: [], next_cursor: null });
    },
  });
  for (const name of Object.getOwnPropertyNames(Holdfast.prototype)) {
    if (["constructor", "call", "follow"].includes(name)) continue;
    const got = (spy as unknown as Record<string, (...of: unknown[]) => unknown>)[name]!("{a}", "{b}");
    await ((got as { page?: () => unknown }).page?.() ?? got);
  }
  const plain = (path: string) => decodeURIComponent(path).replace(/\{\w+\}/g, "{}");
  assert.deepEqual([...new Set(said.map(plain))].sort(), known.map(plain).sort());
  assert.equal(said.length, known.length);
});

test("one order: held, sent again, too many, changed, split, paid, shipped, brought back", async () => {
  const receipt = { movement_id: "M1", kind: "receipt" as const, lines: [{ sku: "MUG", qty: 10 }] };
  assert.deepEqual((await holdfast.move(receipt)).new_skus, ["MUG"]);
  assert.equal((await holdfast.move(receipt)).replayed, true);
  assert.equal((await holdfast.movement("M1")).kind, "receipt");

  const order = { order_id: "R1", lines: [{ sku: "MUG", qty: 3 }] };
  const held = await holdfast.reserve(order);
  assert.deepEqual([held.state, held.replayed], ["held", undefined]);
  assert.equal((await holdfast.reserve(order)).replayed, true);
  const short = await refused(holdfast.reserve({ order_id: "R2", lines: [{ sku: "MUG", qty: 30 }] }));
  assert.deepEqual([short.code, short.status, short.maybeDone], ["short", 409, false]);
  assert.deepEqual(short.lines, [{ sku: "MUG", location: "main", requested: 30, available: 7 }]);

  await holdfast.change("R1", { lines: [{ sku: "MUG", qty: 4 }], if_version: held.version });
  const changed = await refused(holdfast.change("R1", { lines: [{ sku: "MUG", qty: 5 }], if_version: held.version }));
  assert.equal(changed.code, "changed");
  await holdfast.extend("R1", { ttl_s: 600 });
  await holdfast.split("R1", { order_id: "R1-b", lines: [{ sku: "MUG", qty: 1 }], then: "release" });
  assert.equal((await holdfast.confirm("R1")).state, "confirmed");
  assert.equal((await holdfast.confirm("R1")).replayed, true);
  const why = { until: null, reason: "fraud?" };
  assert.deepEqual((await holdfast.holdBack("R1", why)).on_hold, why);
  await holdfast.letGo("R1");

  const task = await holdfast.claim({ kind: "settle", worker: "packing 1" });
  assert.deepEqual(task?.orders.map(one => one.order_id), ["R1"]);
  assert.equal(await holdfast.claim({ kind: "settle", worker: "packing 1" }), undefined);
  await holdfast.heartbeat(task.task_id, { lease_s: 60 });
  assert.deepEqual(await holdfast.complete(task.task_id), { completed: 1, lost: 0, lost_orders: [] });
  assert.equal((await holdfast.reservation("R1")).state, "settled");
  await holdfast.move({ kind: "return", order_id: "R1", lines: [{ sku: "MUG", qty: 1 }] });
  const { available, on_hand } = await holdfast.sku("MUG", { max_age_ms: 0 });
  assert.deepEqual([available, on_hand], [8, 8]);
  const types: string[] = [];
  for await (const event of holdfast.history("R1")) types.unshift(event.type.replace("reservation.", ""));
  assert.deepEqual(types, ["held", "changed", "extended", "split", "confirmed", "on_hold", "off_hold", "settled"]);
  const over = await refused(holdfast.reserve({ order_id: "R1-b", lines: [{ sku: "MUG", qty: 1 }] }));
  assert.equal(over.code, "order_id_reused");
});

test("a late repeat of an order that is over: an error that shows it", async () => {
  await holdfast.move({ kind: "receipt", lines: [{ sku: "CUP", qty: 10 }] });
  const order = { order_id: "L1", lines: [{ sku: "CUP", qty: 1 }] };
  await holdfast.reserve(order);
  await holdfast.release("L1", { if_state: "held" });
  const error = await refused(holdfast.reserve(order));
  assert.deepEqual([error.code, error.replayed], ["released", true]);
  assert.equal((error.problem["reservation"] as { state: string }).state, "released");
});

test("batches: each by itself, or all", async () => {
  const line = (qty: number) => ({ lines: [{ sku: "CUP", qty }] });
  const reservations = [{ order_id: "B1", ...line(1) }, line(100), line(1)];
  const { results } = await holdfast.reserveMany({ reservations });
  assert.deepEqual(results.map(one => one.status), [201, 409, 201]);
  const error = await refused(holdfast.reserveMany({ atomic: true, reservations: [line(1), line(100)] }));
  assert.equal(error.code, "not_all");
  assert.deepEqual((error.problem["results"] as { code: string }[]).map(one => one.code), ["not_done", "short"]);
  const paid = await holdfast.confirmMany({ order_ids: ["B1", "B2"] });
  assert.deepEqual(paid.results.map(one => one.status), [200, 404]);
  const found = await holdfast.find({ order_ids: ["B1"] });
  assert.equal(JSON.stringify(found).includes("confirmed"), true);
});

test("codes with every character, in paths, queries and bodies", async () => {
  const sku = "Tasse weiß/L #1 %20 +?", order_id = "gid://shopify/Order/1#?%+ x";
  await holdfast.move({ kind: "receipt", lines: [{ sku, qty: 2, location: "Köln 1" }] });
  await holdfast.reserve({ order_id, lines: [{ sku, qty: 1, location: "Köln 1" }] });
  assert.equal((await holdfast.reservation(order_id)).lines[0]!.location, "Köln 1");
  assert.equal((await holdfast.sku(sku)).available, 1);
  assert.equal((await holdfast.skus({ prefix: "Tasse weiß/L #1 %20 +" }).page()).items.length, 1);
  assert.equal((await holdfast.reservations({ prefix: "gid://shopify/Order/1#?%+" }).page()).items.length, 1);
});

test("a list has the items of all pages, in order, each once", async () => {
  const skus = Array.from({ length: 25 }, (_, i) => `PAGE${i + 10}`), seen: string[] = [];
  await holdfast.move({ kind: "receipt", lines: skus.map(sku => ({ sku, qty: 1 })) });
  for await (const { sku } of holdfast.skus({ prefix: "PAGE", limit: 7 })) seen.push(sku);
  assert.deepEqual(seen, skus);
  let pages = 0;
  for await (const page of holdfast.skus({ prefix: "PAGE", limit: 7 }).pages()) pages += page.items.length ? 1 : 0;
  assert.equal(pages, 4);
  const error = await refused(holdfast.skus({ cursor: "of elsewhere" }).page());
  assert.equal(error.code, "invalid_request");
});

test("the feed goes on where its cursor stood, over a kill of the service", async () => {
  const start = (await holdfast.events({ after: "now" })).next_cursor, made: string[] = [], heard: string[] = [];
  const maker = (async () => {
    for (let i = 0; i < 40; i++) {
      if (i === 20) { await service.kill(); await service.start(); }
      made.push((await holdfast.reserve({ order_id: `F${i}`, lines: [{ sku: "CUP", qty: 1 }], ttl_s: 60 })).order_id);
      await holdfast.release(`F${i}`);
    }
  })();
  for (let cursor = start, turns = 0; heard.length < 40; turns++) {
    // Each turn is a new reader, as after a restart of the shop.
    for await (const page of holdfast.follow({ after: cursor, types: "reservation.held", limit: 3, wait_s: 1 })) {
      heard.push(...page.items.map(event => (event.data as { order_id: string }).order_id));
      cursor = page.next_cursor;
      if (turns % 2) break;
      if (heard.length >= 40) break;
    }
  }
  await maker;
  assert.deepEqual(heard, made);
  const gone = await refused(holdfast.follow({ after: "of-elsewhere" }).next());
  assert.equal(gone.code, "invalid_request");
});

test("a long poll of the feed ends with the caller's signal, and not with the time of a try", async () => {
  const ender = new AbortController(), { next_cursor: after } = await holdfast.events({ after: "now" });
  const brisk = new Holdfast(service.address, { tryMs: 300, deadlineMs: 400 });
  assert.deepEqual((await brisk.events({ after, types: "sku.for_sale", wait_s: 2 })).items, []);
  setTimeout(() => ender.abort(), 300);
  const pages = brisk.follow({ after, types: "sku.for_sale" }, { signal: ender.signal });
  await assert.rejects(pages.next(), { name: "AbortError" });
});

test("64 callers keep their connections, whatever the service closes between their calls", async t => {
  const proxy = await Proxy.start(service.address), through = new Holdfast(proxy.address, { deadlineMs: 120_000 });
  t.after(() => proxy.end());
  const callers = (calls: number) => Promise.all(Array.from({ length: 64 }, async () => {
    for (let i = 0; i < calls; i++) await through.sku("CUP", { max_age_ms: 1000 });
  }));
  await callers(50);
  // Fetch opens a second one where a caller calls again before it has seen the end of its last answer. A try that ran
  // out of time on a slow machine has closed its connection.
  const again = proxy.requests - 64 * 50;
  assert.ok(proxy.connections <= 3 * 64 + again, `${proxy.requests} calls on ${proxy.connections} connections`);

  // The service closes idle connections after 1 s: these callers call again at just that time.
  await Promise.all(Array.from({ length: 64 }, async (_, i) => {
    for (let turn = 0; turn < 3; turn++) {
      await holdfast.reserve({ order_id: `I${i}-${turn}`, lines: [{ sku: "MUG", qty: 1 }], mode: "best_effort" }).catch(
        (error: HoldfastError) => assert.equal(error.code, "short"));
      await sleep(980 + i);
    }
  }));
});

test("a call that runs out of time beside a paused service", async () => {
  service.pause();
  const error = await refused(holdfast.sku("MUG", {}, { deadlineMs: 500 })).finally(() => service.resume());
  assert.deepEqual([error.code, error.maybeDone], ["no_answer", false], "a read is never in doubt");
});

test("signatures of another implementation", async () => {
  const now = Date.now;
  try {
    for (const line of readFileSync(join(ROOT, "tests/contract/signatures.tsv"), "utf8").trimEnd().split("\n")) {
      const [secrets, id, time, signed, body] = line.split("\t") as [string, string, string, string, string];
      Date.now = () => Number(time) * 1000;
      const headers = { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": signed };
      const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
      for (const secret of secrets.split(",")) {
        assert.deepEqual(await new Receiver(secret).verify(headers, body), JSON.parse(body));
        const event = await new Receiver([other, secret]).verify(new Headers(headers), Buffer.from(body));
        assert.deepEqual(event, JSON.parse(body));
        for (const wrong of [{ "webhook-id": `${id}0` }, { "webhook-timestamp": String(Number(time) + 1) },
          { "webhook-signature": signed.replaceAll("v1,", "v2,") }, { "webhook-signature": "" }, { "webhook-id": "" }])
          await refused(new Receiver(secret).verify({ ...headers, ...wrong }, body));
        await refused(new Receiver(secret).verify(headers, `${body} `));
        Date.now = () => (Number(time) + 301) * 1000;
        await refused(new Receiver(secret).verify(headers, body));
        await new Receiver(secret, { toleranceS: 400 }).verify(headers, body);
        Date.now = () => Number(time) * 1000;
      }
      assert.equal((await refused(new Receiver(other).verify(headers, body))).code, "bad_signature");
    }
  } finally {
    Date.now = now;
  }
});

test("what is no delivery, and no secret", async () => {
  const secret = `whsec_${Buffer.alloc(24, 1).toString("base64")}`, receiver = new Receiver(secret);
  const sign = (id: string, at: string, body: string) =>
    `v1,${createHmac("sha256", Buffer.alloc(24, 1)).update(`${id}.${at}.${body}`).digest("base64")}`;
  const at = String(Math.floor(Date.now() / 1000));
  const headers = (id: string, when: string, body: string) =>
    ({ "webhook-id": id, "webhook-timestamp": when, "webhook-signature": sign(id, when, body) });
  await receiver.verify(headers("7-1-0", at, "{}"), "{}");
  await refused(receiver.verify(headers("7.1", at, "{}"), "{}"));
  for (const when of [`${at}.0`, `${at}000`, "", "-1", "now"])
    await refused(receiver.verify(headers("7-1-0", when, "{}"), "{}"));
  for (const noise of ["v1,%%%", "v1,", "v1", ", ,", "v1a,AAAA  "])
    await receiver.verify({ ...headers("7", at, "{}"), "webhook-signature": `${noise} ${sign("7", at, "{}")}` }, "{}");
  await refused(receiver.verify({}, "{}"));
  const body = "x".repeat(70_000), large = { method: "POST", body, headers: headers("7", at, body) };
  await refused(receiver.receive(new Request("http://shop/", large)));
  for (const bad of [[], "", "whsec_", "whsec_AAAA", secret.slice(6), "whsec_%%%", `whsec_${"A".repeat(100)}`])
    assert.throws(() => new Receiver(bad), TypeError);
});

test("deliveries of the service to node:http and to Fetch, while the secret is changed", async t => {
  const heard: Event[] = [], refusals: unknown[] = [];
  let receiver: Receiver | undefined, fetching = false;
  const server: Server = createServer(async (from, to) => {
    try {
      const body = fetching ? Buffer.concat(await from.toArray()) : undefined;
      const request = body ? new Request("http://shop/", { method: "POST", headers: from.headers as {}, body }) : from;
      heard.push(await receiver!.receive(request));
      to.writeHead(204).end();
    } catch (error) {
      refusals.push(error);
      to.writeHead(401).end();
    }
  });
  await new Promise<void>(resolve => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close().closeAllConnections());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  const hook = await holdfast.makeWebhook({ webhook_id: "erp", url, types: ["reservation.held"] });
  const again = await holdfast.makeWebhook({ webhook_id: "erp", url, types: ["reservation.held"] });
  assert.deepEqual([again.replayed, again.secret], [true, undefined]);
  const order = async (order_id: string) => {
    await holdfast.reserve({ order_id, lines: [{ sku: "CUP", qty: 1 }], ttl_s: 60 });
    await until(async () => heard.some(event => (event.data as { order_id?: string }).order_id === order_id));
    await holdfast.release(order_id);
  };
  receiver = new Receiver(hook.secret!);
  await order("W1");
  fetching = true;
  await order("W2");
  const { secret } = await holdfast.rotateWebhook("erp");
  receiver = new Receiver([secret, hook.secret!]);
  await order("W3");
  receiver = new Receiver(secret);
  await sleep(1100);      // the new secret signs within a second
  await order("W4");
  assert.deepEqual(refusals, []);
  assert.equal((await holdfast.pingWebhook("erp") as { status: number }).status, 204);
  assert.equal((heard.at(-1) as { type: string }).type, "webhook.ping");
  receiver = new Receiver(`whsec_${Buffer.alloc(32, 9).toString("base64")}`);
  assert.equal((await holdfast.pingWebhook("erp") as { status: number }).status, 401);
  assert.equal(await holdfast.deleteWebhook("erp"), undefined);
});

test("the receiver of docs/events.md hears of an order once, and refuses what is forged", async t => {
  const port = 10_000 + Math.floor(Math.random() * 20_000), url = `http://127.0.0.1:${port}/`;
  const { secret } = await holdfast.makeWebhook({ webhook_id: "docs", url, types: ["reservation.held"] });
  const receiver = await program("receiver.js", "ready", { PORT: `${port}`, HOLDFAST_SECRET: secret! });
  t.after(async () => { receiver.end(); await holdfast.deleteWebhook("docs"); });
  await holdfast.reserve({ order_id: "D1", ttl_s: 60, lines: [{ sku: "CUP", qty: 1 }] });
  await until(async () => receiver.out().includes("order_id: 'D1'"));
  assert.equal(receiver.out().split("reservation.held").length, 2);
  const forged = { "webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": "v1,forged" };
  assert.equal((await fetch(url, { method: "POST", headers: forged, body: "{}" })).status, 401);
});

test("the first lines of the project's README make a reservation", async () => {
  const text = readFileSync(new URL("documents/first.js", import.meta.url), "utf8");
  const here = text.replace("http://127.0.0.1:8080", service.address).replace("R1", "README").replace("MUG", "CUP");
  const where = { encoding: "utf8" as const, cwd: fileURLToPath(new URL("..", import.meta.url)) };
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", here], where);
  assert.match(run.stdout, /^held \d{4}-.*Z\n$/, run.stderr);
  assert.equal((await holdfast.reservation("README")).lines[0]!.qty, 3);
});

test("CommonJS requires the same client", async () => {
  const { Holdfast: Required } = createRequire(import.meta.url)("holdfast") as typeof import("holdfast");
  assert.equal((await new Required(service.address).sku("CUP")).sku, "CUP");
});

/** A program of the documents, until it has printed `said`. */
async function program(name: string, said: string, env: Record<string, string>) {
  const file = new URL(`documents/${name}`, import.meta.url).pathname;
  const child: ChildProcess = spawn(process.execPath, [file], { cwd: service.folder, env: { ...process.env, ...env } });
  let out = "";
  for (const stream of [child.stdout!, child.stderr!])
    stream.setEncoding("utf8").on("data", (text: string) => out += text);
  await until(async () => out.includes(said) || child.exitCode !== null);
  assert.ok(out.includes(said), out);
  return { out: () => out, end: () => child.kill("SIGKILL") };
}

test("the shop of the README sells, sells out, is paid, packs, and writes each mail once, over a restart", async () => {
  const port = 10_000 + Math.floor(Math.random() * 20_000), env = { HOLDFAST_URL: service.address, PORT: `${port}` };
  const call = async (method: string, path: string, body?: unknown) => {
    const asked = { method, body: body === undefined ? null : JSON.stringify(body) };
    const answer = await fetch(`http://127.0.0.1:${port}/${path}`, asked), text = await answer.text();
    return { status: answer.status, body: answer.ok ? JSON.parse(text) as Record<string, unknown> : text };
  };
  let shop = await program("shop.mjs", "open", env);
  try {
    await call("POST", "deliveries/D1", [{ sku: "POSTER", qty: 3 }]);
    await call("POST", "deliveries/D1", [{ sku: "POSTER", qty: 3 }]);
    const page = { sku: "POSTER", button: "buy", hint: "only 3 left" }, one = [{ sku: "POSTER", qty: 1 }];
    assert.deepEqual((await call("GET", "products/POSTER")).body, page);
    const orders = await Promise.all(["S1", "S2", "S3", "S4", "S5"].map(id => call("POST", `orders/${id}`, one)));
    assert.equal(orders.filter(({ body }) => (body as { state?: string }).state === "held").length, 3);
    assert.equal(orders.filter(({ body }) => JSON.stringify(body) === '{"sorry":["POSTER: 0 left, not 1"]}').length, 2);
    const [first, second] = orders.map(({ body }) => (body as { order_id?: string }).order_id).filter(Boolean);
    assert.equal((await call("POST", `paid/${first}`)).status, 200);
    assert.equal((await call("POST", `failed/${first}`)).status, 409);
    assert.equal((await call("POST", `failed/${second}`)).status, 200);
    assert.equal((await call("POST", `paid/${second}`)).status, 409);
    const ship = async () => {
      const task = (await call("POST", "packing/Table 1")).body as { task_id: number; orders: { order_id: string }[] };
      await call("POST", `shipped/${task.task_id}`);
      return task.orders.map(order => order.order_id);
    };
    assert.ok((await ship()).includes(first!));
    await until(async () => shop.out().includes(`mail: ${first} is on its way`));
    await until(async () => readFileSync(join(service.folder, "cursor"), "utf8"));
    shop.end();
    await holdfast.reserve({ order_id: "S6", confirm: true, lines: one });
    await holdfast.settle("S6");
    shop = await program("shop.mjs", "mail: S6", env);
    assert.ok(!shop.out().includes(`mail: ${first}`), "the cursor was stored");
  } finally {
    shop.end();
  }
});
