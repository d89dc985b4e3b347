// One call of Holdfast: what is sent, how an answer is read, and what is sent again.
import { type Answer, type Ask, type Calls, calls, ids, List, once, type Options, reads } from "./calls.js";
import { type Code, HoldfastError } from "./error.js";

export interface Settings {
  /** Sent as `Authorization: Bearer KEY`. */
  key?: string | undefined;
  /** The time of a whole call: all tries, the pauses between them, and the body of the answer. Default 30,000. */
  deadlineMs?: number | undefined;
  /** The time of one try. Default 15,000: the service answers within 12 s, whatever happens to its database. */
  tryMs?: number | undefined;
  /** Another `fetch`: with a pool, a certificate or a socket of its own. */
  fetch?: typeof fetch | undefined;
}

/** What came of one try. `again`: the call may be sent again, after `waitMs` or after the client's own pause. */
type Outcome = { answer: unknown } | { error: HoldfastError; again: boolean; waitMs?: number | undefined };

const ANSWER_MAX = 128 * 1024 * 1024;
const PAUSES_MS = [0, 1000, 2000, 4000, 8000];
/** Statuses of a gateway whose body is no refusal of Holdfast. 408: to a connection that was idle until a call came. */
const LOST: ReadonlySet<number> = new Set([408, 502, 503, 504]);
/** Where the service asks for less, or for none at all. */
const PAUSE_LEAST_MS = 100;
const TIMER_MAX_MS = 2 ** 31 - 1;
/** Codes of a 503 that say that nothing was done. Any other one leaves it open: a gateway has codes, too. */
const NOTHING_DONE = /^(busy|storage_full|unavailable)$/;
/** Causes of a failed fetch: no connection came about, so nothing was sent. */
const UNSENT = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|ENOENT|UND_ERR_CONNECT_TIMEOUT)$/;
/** None will come about, either, before a certificate or an address is mended. */
const UNSAFE = /CERT|SSL|TLS|UNABLE_TO_/;

export interface Holdfast extends Calls {}

/** A client. It keeps connections open, any number of callers may share it, and it need not be closed. */
export class Holdfast {
  readonly #base: string;
  readonly #headers: Headers;
  readonly #settings: { deadlineMs: number; tryMs: number; fetch: typeof fetch };
  readonly #mark = Math.random().toString(36).slice(2, 10);
  #calls = 0;

  /** `address` may have a path, where a proxy gives the service one. */
  constructor(address: string | URL, { key, deadlineMs = 30_000, tryMs = 15_000, fetch: other }: Settings = {}) {
    this.#base = new Request(address).url.replace(/[?#].*$/, "").replace(/\/+$/, "");
    this.#headers = new Headers(key === undefined ? {} : { Authorization: `Bearer ${key}` });
    this.#settings = { deadlineMs, tryMs, fetch: other ?? ((...of) => fetch(...of)) };
  }

  /**
   * The feed from `after` on, page by page and without end. Store the `next_cursor` of each page together with what its
   * events did, and begin with it the next time. Outages are waited out. `cursor_expired` is thrown: read the present
   * state then.
   */
  async *follow(query: Ask<"events"> = {}, options: Options = {}): AsyncGenerator<Answer<"events">, void, void> {
    for (let asked: Ask<"events"> = { wait_s: 25, limit: 1000, ...query }; ;) {
      const page = await this.events(asked, { deadlineMs: Infinity, ...options });
      yield page;
      asked = { ...asked, after: page.next_cursor };
    }
  }

  /** The call of this name; the methods that are made below call it. */
  protected call(name: keyof typeof calls, given: unknown[]): unknown {
    const [verb, template] = calls[name].split(" ") as [string, string];
    const behind = given.slice(template.split("{").length - 1);
    const [ask = {}, options = {}] = behind as [Record<string, unknown>?, Options?];
    const sends = verb === "POST" || verb === "PUT";
    const send = async (query: Record<string, unknown>) => {
      let part = 0;
      const path = template.replace(/\{(\w+)\}/g, (_, noun: string) => segment(noun, given[part++]));
      const url = this.#base + path + written(query), body = sends ? withIds(name, ask) : undefined;
      return this.#send(verb === "LIST" ? "GET" : verb, url, body, {
        ...options,
        once: once.has(name),
        changes: sends && !reads.has(name) || verb === "DELETE",
        waitMs: Number(query["wait_s"] ?? 0) * 1000,
      });
    };
    if (verb !== "LIST") return send(sends ? {} : ask);
    return new List(cursor => send(cursor === undefined ? ask : { ...ask, cursor }) as Promise<never>);
  }

  /** Tries until there is an answer, a refusal, or no time left. `waitMs`: of a long poll. */
  async #send(method: string, url: string, body: unknown,
    { signal, deadlineMs, once, changes, waitMs }: Options & { once: boolean; changes: boolean; waitMs: number }) {
    const ends = performance.now() + (deadlineMs ?? this.#settings.deadlineMs + waitMs);
    const requestId = `${this.#mark}-${++this.#calls}`, headers = new Headers(this.#headers);
    headers.set("X-Request-Id", requestId);
    if (body !== undefined) headers.set("Content-Type", "application/json");
    const request: RequestInit = { method, headers, redirect: "manual", body: JSON.stringify(body) ?? null };
    let maybeDone = false;
    for (let tries = 1; ; tries++) {
      signal?.throwIfAborted();
      const left = ends - performance.now();
      const got = await this.#try(url, request, Math.min(this.#settings.tryMs + waitMs, left), signal);
      if ("answer" in got) return got.answer;
      maybeDone ||= changes && got.error.maybeDone;
      const own = PAUSES_MS[Math.min(tries, PAUSES_MS.length) - 1]!, chance = Math.random();
      const pause = got.waitMs === undefined ? own * (1 - chance / 2) : got.waitMs * (1 + chance / 4);
      if (!got.again || once && maybeDone || performance.now() + pause >= ends)
        throw Object.assign(got.error, { sent: body, tries, maybeDone, requestId: got.error.requestId ?? requestId });
      await sleep(pause, signal);
    }
  }

  async #try(url: string, request: RequestInit, ms: number, signal: AbortSignal | undefined): Promise<Outcome> {
    const ender = new AbortController(), forget = whenAborted(signal, () => ender.abort(signal?.reason));
    const late = () => ender.abort(new DOMException(`no answer within ${Math.round(ms)} ms`, "TimeoutError"));
    const timer = setTimeout(late, Math.min(ms, TIMER_MAX_MS));
    try {
      const response = await this.#settings.fetch(url, { ...request, signal: ender.signal });
      return judge(response, await text(response));
    } catch (thrown) {
      signal?.throwIfAborted();
      if (thrown instanceof HoldfastError) return { error: thrown, again: false };
      const error = thrown as Error, cause = error.cause as Error & { code?: unknown } | undefined;
      const code = String(cause?.code ?? ""), unsafe = UNSAFE.test(code), maybeDone = !unsafe && !UNSENT.test(code);
      const detail = cause?.message ? `${error.message}: ${cause.message}` : error.message;
      return { error: new HoldfastError("no_answer", detail, { cause: error, maybeDone }), again: !unsafe };
    } finally {
      clearTimeout(timer);
      forget();
    }
  }
}

for (const name of Object.keys(calls) as (keyof typeof calls)[]) {
  const value = function (this: Holdfast, ...given: unknown[]) { return this["call"](name, given); };
  Object.defineProperty(Holdfast.prototype, name, { value, configurable: true, writable: true });
}

/** A part of a path. Fetch and proxies fold `.` and `..`, which makes it the path of another call. */
function segment(noun: string, value: unknown): string {
  const said = String(value ?? "");
  if (!/^\.{0,2}$/.test(said)) return encodeURIComponent(said);
  throw new HoldfastError("invalid_request", `'${said}' is no ${noun}`, { problem: { field: noun } });
}

/** The query as a URL has it. URLSearchParams writes a space as a plus, which here is a plus. */
function written(query: Record<string, unknown>): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  return pairs.map(([name, value], i) => `${i ? "&" : "?"}${name}=${encodeURIComponent(String(value))}`).join("");
}

/** The body with an id of the client's where the caller gave none. */
function withIds(name: string, body: Record<string, unknown>): Record<string, unknown> {
  if (name === "reserveMany" && Array.isArray(body["reservations"]))
    return { ...body, reservations: body["reservations"].map(one => withIds("reserve", one)) };
  const id = (ids as Record<string, string>)[name];
  return id === undefined || body[id] !== undefined ? body : { ...body, [id]: crypto.randomUUID() };
}

/** The whole body. It throws where the body ends early or has no end. */
async function text(response: Response): Promise<string> {
  const reader = response.body?.getReader(), decoder = new TextDecoder();
  let said = "";
  for (let part; reader && !(part = await reader.read()).done;) {
    said += decoder.decode(part.value, { stream: true });
    if (said.length <= ANSWER_MAX) continue;
    await reader.cancel();
    throw new HoldfastError("bad_answer", "the answer is too large", { status: response.status, maybeDone: true });
  }
  return said + decoder.decode();
}

function judge(response: Response, said: string): Outcome {
  const { status, headers } = response;
  const json = /\bjson\b/.test(headers.get("Content-Type") ?? "") ? parsed(said) : undefined;
  const replayed = headers.get("Idempotent-Replayed") === "true";
  if (status === 204) return { answer: undefined };
  if (response.ok && json) return { answer: replayed ? { ...json, replayed } : json };
  const retryAfterS = seconds(headers);
  const waitMs = retryAfterS === undefined ? undefined : Math.max(retryAfterS * 1000, PAUSE_LEAST_MS);
  const about = { status, retryAfterS, requestId: headers.get("X-Request-Id") ?? undefined };
  const refusal = status === 503 || status >= 400 && status < 500 && status !== 408;     // Holdfast has no other
  if (refusal && typeof json?.["code"] === "string") {
    const code = json["code"] as Code, maybeDone = status === 503 && !NOTHING_DONE.test(code);
    const error = new HoldfastError(code, String(json["detail"] ?? `status ${status}`),
      { ...about, problem: json, replayed, maybeDone });
    return { error, again: status === 503 || status === 429, waitMs };
  }
  // A gateway may say what follows: that it lost the answer, or takes no more requests.
  const error = (code: Code, why: string, maybeDone: boolean) => new HoldfastError(code, why, { ...about, maybeDone });
  if (json === null) return { error: error("no_answer", `an answer ${status} is cut off`, true), again: true };
  if (LOST.has(status)) return { error: error("no_answer", `a gateway answers ${status}`, true), again: true, waitMs };
  if (status === 429) return { error: error("rate_limited", "a gateway answers 429", false), again: true, waitMs };
  const maybeDone = status < 400 || status >= 500;
  return { error: error("bad_answer", `what answers with status ${status} is no Holdfast`, maybeDone), again: false };
}

/** An object, or null where the text is none. */
function parsed(said: string): Record<string, unknown> | null {
  try {
    const value = JSON.parse(said);
    return typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** Of Retry-After, which is a number of seconds, or a date by the clock of the service. */
function seconds(headers: Headers): number | undefined {
  const said = headers.get("Retry-After") ?? "", sent = Date.parse(headers.get("Date") ?? "");
  if (/^\d+$/.test(said)) return Number(said);
  const value = (Date.parse(/^[-.\d]*$/.test(said) ? "" : said) - (sent || Date.now())) / 1000;
  return Number.isNaN(value) ? undefined : Math.max(0, value);
}

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => { forget(); resolve(); }, Math.min(ms, TIMER_MAX_MS));
    const forget = whenAborted(signal, () => { clearTimeout(timer); reject(signal?.reason); });
  });
}

/** What is to end with each signal. */
const stops = new WeakMap<AbortSignal, Set<() => void>>();

/** Calls `stop` when the signal aborts, until the answer is called. One listener a signal: Node warns of many. */
function whenAborted(signal: AbortSignal | undefined, stop: () => void): () => void {
  if (!signal) return () => undefined;
  const all = stops.get(signal) ?? new Set();
  if (!stops.has(signal)) signal.addEventListener("abort", () => all.forEach(one => one()), { once: true });
  stops.set(signal, all.add(stop));
  return () => { all.delete(stop); };
}
