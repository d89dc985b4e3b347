// The calls of the contract by name. This table makes the methods of the class Holdfast, and the contract their types.
import type { paths } from "./contract.js";

/** Method and path of each call. LIST is a GET whose answer is a page of a list. */
export const calls = {
  /** Changes the stock: goods come in, come back, are counted, break or move. */
  move: "POST /v1/movements",
  movement: "GET /v1/movements/{movement_id}",
  /** The units of every sku; with a query some of them. */
  skus: "LIST /v1/skus",
  /** The units of one sku, and where they are. */
  sku: "GET /v1/skus/{sku}",
  setSku: "PUT /v1/skus/{sku}",
  /** Stops the sale of skus, or lets it go on. */
  setForSale: "POST /v1/skus/for_sale",
  /** How many units of a sku a customer has, where the sku has a limit per customer. */
  customer: "GET /v1/skus/{sku}/customers/{customer}",
  /** The orders that wait for units of a sku, in the order in which they get them. */
  waiting: "LIST /v1/skus/{sku}/waiting",
  setThreshold: "PUT /v1/skus/{sku}/threshold",
  deleteThreshold: "DELETE /v1/skus/{sku}/threshold",
  thresholds: "LIST /v1/skus/{sku}/thresholds",
  /** The orders that have units of a sku. */
  holds: "LIST /v1/skus/{sku}/holds",
  movements: "LIST /v1/skus/{sku}/movements",
  locations: "LIST /v1/locations",
  location: "GET /v1/locations/{location}",
  setLocation: "PUT /v1/locations/{location}",
  /** What is for sale of many skus. */
  availability: "POST /v1/availability",
  /** The units of many skus, location by location. */
  stock: "POST /v1/stock",
  /** Holds units for an order, for a limited time. */
  reserve: "POST /v1/reservations",
  /** Up to 1,000 orders, each judged by itself: look at the `status` of each result. With `atomic` all or none. */
  reserveMany: "POST /v1/reservations/batch",
  reservation: "GET /v1/reservations/{order_id}",
  reservations: "LIST /v1/reservations",
  /** Up to 1,000 orders by their ids. */
  find: "POST /v1/reservations/find",
  /** Gives an order other lines. Where several programs change one order, send `if_version`. */
  change: "PUT /v1/reservations/{order_id}",
  /** The events of one order, the newest first. */
  history: "LIST /v1/reservations/{order_id}/events",
  /** The order is paid. It does not expire any more. */
  confirm: "POST /v1/reservations/{order_id}/confirm",
  /** The order is cancelled. Its units are for sale again. */
  release: "POST /v1/reservations/{order_id}/release",
  /** The order has left the house. */
  settle: "POST /v1/reservations/{order_id}/settle",
  extend: "POST /v1/reservations/{order_id}/extend",
  /** Moves units of an order to a new order. */
  split: "POST /v1/reservations/{order_id}/split",
  /** Gives a buried order to workers again. */
  kick: "POST /v1/reservations/{order_id}/kick",
  /** Keeps an order from being shipped. */
  holdBack: "PUT /v1/reservations/{order_id}/hold",
  /** Ends what holdBack began. */
  letGo: "DELETE /v1/reservations/{order_id}/hold",
  confirmMany: "POST /v1/confirmations",
  releaseMany: "POST /v1/releases",
  settleMany: "POST /v1/settlements",
  kickMany: "POST /v1/kicks",
  /** Why orders are buried: their last errors, counted. */
  buried: "LIST /v1/buried",
  /** One page of the feed. `follow` goes on and on. */
  events: "GET /v1/events",
  /** Gives a worker a batch of orders to ship; undefined: nothing is ready. */
  claim: "POST /v1/tasks",
  tasks: "LIST /v1/tasks",
  task: "GET /v1/tasks/{task_id}",
  heartbeat: "POST /v1/tasks/{task_id}/heartbeat",
  complete: "POST /v1/tasks/{task_id}/complete",
  fail: "POST /v1/tasks/{task_id}/fail",
  /** Gives orders back which the worker has not begun. */
  giveBack: "POST /v1/tasks/{task_id}/return",
  /** Only the answer that says that the webhook is new has its `secret`: rotateWebhook gives it another one. */
  makeWebhook: "POST /v1/webhooks",
  webhooks: "LIST /v1/webhooks",
  webhook: "GET /v1/webhooks/{webhook_id}",
  deleteWebhook: "DELETE /v1/webhooks/{webhook_id}",
  enableWebhook: "POST /v1/webhooks/{webhook_id}/enable",
  rotateWebhook: "POST /v1/webhooks/{webhook_id}/rotate",
  pingWebhook: "POST /v1/webhooks/{webhook_id}/ping",
  attempts: "GET /v1/webhooks/{webhook_id}/attempts",
  jobs: "GET /v1/jobs",
  setJob: "PUT /v1/jobs/{job}",
  key: "GET /v1/key",
  stats: "GET /v1/stats",
  activity: "GET /v1/activity",
} as const;

/** The id that the client makes where the caller gives none. */
export const ids = { move: "movement_id", reserve: "order_id", split: "order_id", makeWebhook: "webhook_id" } as const;

/**
 * Calls that have a second effect when they are sent a second time: another batch of orders, kick or secret. They
 * are sent again only where it is certain that nothing was done.
 */
export const once: ReadonlySet<string> = new Set<keyof typeof calls>(
  ["claim", "kickMany", "enableWebhook", "rotateWebhook", "pingWebhook"]);

/** Calls that change nothing, though their method is POST. */
export const reads: ReadonlySet<string> = new Set<keyof typeof calls>(["availability", "stock", "find"]);

export interface Options {
  /** Ends the call. Its reason is thrown. The call may have had its effect. */
  signal?: AbortSignal | undefined;
  /** The time of the whole call with all tries, in milliseconds. */
  deadlineMs?: number | undefined;
}

type Name = keyof typeof calls;
type Verb = { GET: "get"; LIST: "get"; POST: "post"; PUT: "put"; DELETE: "delete" };
type Operation<N extends Name> =
  (typeof calls)[N] extends `${infer M extends keyof Verb} ${infer P extends keyof paths}` ? paths[P][Verb[M]] : never;
type Json<T> = T extends { content: { "application/json": infer J } } ? J : undefined;
type Replayed<T> = T extends object ? T & { replayed?: boolean } : T;
/** A first answer may have more members than a repeated one. */
type Both<Again, First> =
  [keyof First] extends [keyof Again] ? Again : Again & Partial<Omit<First, keyof Again>>;
type Good<R> = R extends { 200: infer A; 201: infer B } ? Both<Json<A>, Json<B>>
  : { [S in keyof R & (200 | 201 | 204)]: Json<R[S]> }[keyof R & (200 | 201 | 204)];

/** What a call answers. `replayed`: the answer had the header Idempotent-Replayed, so the call had been done before. */
export type Answer<N extends Name> = Operation<N> extends { responses: infer R } ? Replayed<Good<R>> : never;

type Optional<T, K extends string> = T extends unknown ? Omit<T, K> & { [P in K & keyof T]?: T[P] } : never;
type WithIds<N extends Name, T> = N extends keyof typeof ids ? Optional<T, (typeof ids)[N]>
  : N extends "reserveMany" ? T extends { reservations: (infer R)[] }
    ? Omit<T, "reservations"> & { reservations: Optional<R, "order_id">[] } : never
  : T;
type Query<O> = O extends { parameters: { query?: infer Q } } ? NonNullable<Q> : never;
type Sent<B> = [B] extends [never] ? never : B extends { content: { "application/json": infer J } } ? J : never;
type Body<O> = O extends { requestBody?: infer B } ? Sent<NonNullable<B>> : never;
type Either<A, B> = [A] extends [never] ? [B] extends [never] ? Record<string, never> : B : A;

/** The body of a call, or its query where it has none. Ids that the client can make may be left out. */
export type Ask<N extends Name> = WithIds<N, Either<Body<Operation<N>>, Query<Operation<N>>>>;

type Part<N extends Name, K> =
  Operation<N> extends { parameters: { path: infer P } } ? K extends keyof P ? P[K] : never : never;
type Result<N extends Name> = (typeof calls)[N] extends `LIST ${string}`
  ? Answer<N> extends { items: (infer I)[]; next_cursor: string | null } ? List<I, Answer<N>> : never
  : Promise<Answer<N>>;
type Tail<N extends Name> = {} extends Ask<N> ? [ask?: Ask<N>, options?: Options] : [ask: Ask<N>, options?: Options];
type Call<N extends Name> = (typeof calls)[N] extends `${string}{${infer A}}${string}{${infer B}}${string}`
  ? (id: Part<N, A>, of: Part<N, B>, ...tail: Tail<N>) => Result<N>
  : (typeof calls)[N] extends `${string}{${infer A}}${string}` ? (id: Part<N, A>, ...tail: Tail<N>) => Result<N>
  : (...tail: Tail<N>) => Result<N>;

/** The methods of a client: the parts of the path, then the body or the query, then options. */
export type Calls = { [N in Name]: Call<N> };

/** A list: the items of all its pages, page after page. */
export class List<Item, Page extends { items: Item[]; next_cursor: string | null }> implements AsyncIterable<Item> {
  /** `page` reads one page: the first, or the one at `cursor`. */
  constructor(readonly page: (cursor?: string) => Promise<Page>) {}

  async *pages(): AsyncGenerator<Page, void, void> {
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: Page = await this.page(cursor);
      yield page;
      cursor = page.next_cursor;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, void> {
    for await (const page of this.pages()) for (const item of page.items) yield item;
  }
}
