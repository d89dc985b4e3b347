// Deliveries of webhooks, signed by Standard Webhooks 1.0.
import type { components } from "./contract.js";
import { HoldfastError } from "./error.js";

/** An event as the feed and webhooks tell it. Ignore a `type` that you do not know. Act once on each `id`. */
export type Event = components["schemas"]["Event"];

/** A request of node:http, or of a framework that stands on it and has not read the body. */
export interface NodeRequest extends AsyncIterable<Uint8Array | string> {
  headers: Record<string, string | string[] | undefined>;
}

const BODY_MAX = 64 * 1024;     // an event has 20,000 bytes at most
const PREFIX = "whsec_";

/** Verifies deliveries. What was not signed with one of its secrets, or not lately, is thrown: `bad_signature`. */
export class Receiver {
  readonly #keys: Promise<CryptoKey[]>;
  readonly #toleranceS: number;

  /** `secrets`: one, or the new one and the old one while a webhook's secret is changed (`rotateWebhook`). */
  constructor(secrets: string | string[], { toleranceS = 300 } = {}) {
    this.#toleranceS = toleranceS;
    const bytes = [secrets].flat().map(secret => {
      const key = secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : undefined;
      if (key && key.length >= 24 && key.length <= 64) return key;
      throw new TypeError("a secret of a webhook is whsec_ and base64 of 24 to 64 bytes");
    });
    if (!bytes.length) throw new TypeError("a receiver needs a secret");
    this.#keys = Promise.all(bytes.map(key =>
      crypto.subtle.importKey("raw", key, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])));
  }

  /** The event of a request of node:http or of Fetch. If something has read the body before, `verify` takes it. */
  async receive(request: Request | NodeRequest): Promise<Event> {
    const body = "arrayBuffer" in request ? request.body : request;
    const chunks: Uint8Array[] = [];
    let length = 0;
    for await (const part of (body ?? []) as AsyncIterable<Uint8Array | string>) {
      const chunk = bytesOf(part);
      chunks.push(chunk);
      if ((length += chunk.length) > BODY_MAX) throw new HoldfastError("bad_signature", "no event is so large");
    }
    const whole = new Uint8Array(length);
    let at = 0;
    for (const chunk of chunks) whole.set(chunk, (at += chunk.length) - chunk.length);
    return this.verify(request.headers, whole);
  }

  /** `body`: the bytes as they came, before anything has read or changed them. */
  async verify(headers: Headers | NodeRequest["headers"], body: Uint8Array | string): Promise<Event> {
    const get = (name: string) => String((headers instanceof Headers ? headers.get(name) : headers[name]) ?? "");
    const id = get("webhook-id"), at = get("webhook-timestamp");
    const refuse = (why: string) => new HoldfastError("bad_signature", why);
    if (!id || id.includes(".") || !/^\d{1,12}$/.test(at)) throw refuse("these are no headers of a delivery");
    const off = Math.abs(Date.now() / 1000 - Number(at));
    if (off > this.#toleranceS) throw refuse("the delivery is old, or a clock is wrong");
    const head = new TextEncoder().encode(`${id}.${at}.`), tail = bytesOf(body);
    const signed = new Uint8Array(head.length + tail.length);
    signed.set(head);
    signed.set(tail, head.length);
    for (const said of get("webhook-signature").split(" ")) {
      const signature = said.startsWith("v1,") ? fromBase64(said.slice(3)) : undefined;
      if (!signature) continue;
      for (const key of await this.#keys) {
        const good = await crypto.subtle.verify("HMAC", key, signature, signed);    // it compares in constant time
        if (good) return JSON.parse(new TextDecoder().decode(tail));
      }
    }
    throw refuse("no signature is of a known secret");
  }
}

function bytesOf(said: Uint8Array | string): Uint8Array {
  return typeof said === "string" ? new TextEncoder().encode(said) : said;
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), c => c.charCodeAt(0));
  } catch {
    return undefined;
  }
}
