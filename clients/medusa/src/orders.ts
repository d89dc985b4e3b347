import { MedusaError } from "@medusajs/framework/utils";
import { type Answer, type Ask, type Holdfast, HoldfastError } from "holdfast";
import { isCode, notEnough, parts, refused } from "./refusal";
import { type Spot, type Stock, waiting } from "./stock";

/**
 * What a reservation item says: these units of this spot are the customer's. It is an order of one line in Holdfast.
 */
export interface Want extends Spot {
  reservation: string;
  /** The order's id: the reservation's, with a number behind it once it was deleted and restored. */
  order: string;
  units: number;
  backorder: boolean;
}

type Order = NonNullable<Answer<"find">["items"][number]>;
type Line = Ask<"change">["lines"][number];

/** Atomic calls take 100 orders, other calls 1,000. */
const ATOMIC_MAX = 100;
const MANY_MAX = 1000;
/**
 * Workers of Holdfast leave Medusa's orders alone: they leave the house by Medusa's fulfilments. 400 days are the
 * most.
 */
const SHIP_AFTER_MS = 399 * 86400_000;
const TRIES_MAX = 5;
const PAUSE_MS = 200;

/** Orders in Holdfast: one for each reservation item. */
export class Orders {
  constructor(
    private readonly holdfast: Holdfast,
    private readonly stock: Stock,
    private readonly ttl_s: number
  ) {}

  /** Holds all of them or none, for a limited time. Too few units: Medusa's own refusal. */
  async hold(wants: Want[]): Promise<void> {
    const held: Want[] = [];
    try {
      for (const some of parts(wants, ATOMIC_MAX)) {
        await this.#promised(
          some.filter(want => want.backorder),
          () => this.#holdSome(some)
        );
        held.push(...some);
      }
    } catch (error) {
      await this.release(held.map(want => want.order)).catch(() => undefined); // they end by themselves
      throw error instanceof HoldfastError ? (shortOf(error, wants) ?? refused(error)) : error;
    }
  }

  async #holdSome(wants: Want[]): Promise<void> {
    const reservations = wants.map(want => ({ ...this.#order(want, exactly(want)), ttl_s: this.ttl_s }));
    if (reservations.length === 1) await this.holdfast.reserve(reservations[0]!);
    else await this.holdfast.reserveMany({ atomic: true, reservations });
  }

  /**
   * Confirms what `hold` held. The answer has what could not be: its time was over, and the units went to another
   * order.
   */
  async confirm(wants: Want[]): Promise<Want[]> {
    const refused = await this.#each(
      wants.map(want => want.order),
      order_ids => this.holdfast.confirmMany({ order_ids, if_expired: "reacquire" })
    );
    return wants.filter(want => refused.has(want.order));
  }

  /** Gives the units back. An order that is over already stays as it is. */
  async release(orders: string[]): Promise<void> {
    await this.#each(orders, order_ids => this.holdfast.releaseMany({ order_ids }));
  }

  /**
   * A call of many orders, each of which is judged by itself. Orders for which Holdfast has no time now are sent again.
   * The answer has those that were refused.
   */
  async #each(
    orders: string[],
    call: (order_ids: string[]) => Promise<{ results: { status: number }[] }>
  ): Promise<Set<string>> {
    const refused = new Set<string>();
    for (const some of parts(orders, MANY_MAX))
      for (let left = some, tries = 1; left.length; tries++) {
        const { results } = await call(left);
        left.filter((_, i) => results[i]!.status !== 200).forEach(order => refused.add(order));
        left = left.filter((_, i) => results[i]!.status === 503);
        left.forEach(order => refused.delete(order));
        if (left.length && tries === TRIES_MAX)
          throw new HoldfastError("busy", "no time for some orders", { status: 503 });
        if (left.length) await new Promise(resolve => setTimeout(resolve, tries * PAUSE_MS));
      }
    return refused;
  }

  /** The orders of these ids, as they are now. */
  async find(ids: string[]): Promise<Map<string, Order>> {
    const found = new Map<string, Order>();
    for (const order_ids of parts([...new Set(ids)], MANY_MAX))
      for (const order of (await this.holdfast.find({ order_ids })).items) if (order) found.set(order.order_id, order);
    return found;
  }

  /**
   * Takes what `to` needs beyond `from`, and gives nothing back yet. So the transaction may still end either way:
   * `narrow` gives back what was too much, which cannot be refused. The answer has the version of each order.
   */
  async widen(from: Want[], to: Want[]): Promise<Map<string, number>> {
    const versions = new Map<string, number>();
    const orders = await this.find(from.map(want => want.order));
    for (const [i, want] of to.entries()) {
      const order = orders.get(want.order);
      if (order?.state !== "confirmed" && order?.state !== "held")
        throw new MedusaError(
          MedusaError.Types.UNEXPECTED_STATE,
          `The order ${want.order} of reservation item ${want.reservation} is ${order?.state ?? "unknown"} in Holdfast`
        );
      versions.set(want.order, (await this.#widen(order, from[i]!, want)).version!);
    }
    return versions;
  }

  async #widen(order: Order, from: Want, to: Want): Promise<Order> {
    const moved = from.sku !== to.sku || from.location !== to.location;
    const more = moved ? to.units : to.units - from.units;
    if (more <= 0) return order;
    const has: Line[] = order.lines.map(({ sku, location, qty }) => ({ sku, location, qty }));
    const lines = to.backorder && !moved ? [anyhow(to)] : [...has, ...exactly({ ...to, units: more })];
    try {
      return await this.#promised(to.backorder ? [to] : [], () =>
        this.holdfast.change(order.order_id, { lines, if_version: order.version! })
      );
    } catch (error) {
      throw error instanceof HoldfastError ? (shortOf(error, [to]) ?? refused(error)) : error;
    }
  }

  /** Gives back all that `to` does not have. `changed` names orders that another call has changed since. */
  async narrow(to: Want[], versions: Map<string, number>): Promise<Want[]> {
    const changed: Want[] = [];
    for (const want of to)
      try {
        await this.holdfast.change(want.order, { lines: [anyhow(want)], if_version: versions.get(want.order)! });
      } catch (error) {
        if (!(error instanceof HoldfastError) || error.status !== 409) throw error;
        changed.push(want);
      }
    return changed;
  }

  /**
   * Makes an order as it should be, whatever it is now: what cannot be had waits. False: its id is used up, as it was
   * released or its units went to another order; it takes another id.
   */
  async settle(want: Want, order: Order | undefined): Promise<boolean> {
    try {
      if (!order)
        await this.#promised([want], () =>
          this.holdfast.reserve({ ...this.#order(want, [anyhow(want)]), confirm: true })
        );
      else if (order.state === "released") return false;
      else if (order.state === "held" || order.state === "expired")
        await this.holdfast.confirm(want.order, { if_expired: "reacquire" });
      if (order && order.state !== "settled" && !covers(order, want))
        await this.#promised([want], () => this.holdfast.change(want.order, { lines: [anyhow(want)] }));
      return true;
    } catch (error) {
      if (isCode(error, "short", "released", "expired", "limit_reached")) return false;
      throw error;
    }
  }

  #order(want: Want, lines: Line[]): Ask<"reserve"> & { order_id: string } {
    return { order_id: want.order, lines, ship_after: new Date(Date.now() + SHIP_AFTER_MS).toISOString() };
  }

  /**
   * Runs `call`; where it is refused as nothing is promised for backorders yet, makes that promise and runs it again.
   */
  async #promised<T>(backorders: Spot[], call: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++)
      try {
        return await call();
      } catch (error) {
        if (tries === TRIES_MAX || !isCode(error, "short", "unknown_location", "not_all")) throw error;
        const lines = shortLines(error);
        const lacking = backorders.filter(({ sku, location }) =>
          lines.some(line => line.sku === sku && (line.locations ?? [line.location]).includes(waiting(location)))
        );
        if (!lacking.length) throw error;
        await Promise.all(lacking.map(spot => this.stock.promise(spot)));
      }
  }
}

/** The line of a new order. */
function exactly(want: Want): Line[] {
  return [want.backorder ? anyhow(want) : { sku: want.sku, location: want.location, qty: want.units }];
}

/** The same units, wherever they are: what is not at the location waits. */
function anyhow({ sku, location, units }: Want): Line {
  return { sku, qty: units, locations: [location, waiting(location)], may_split: true };
}

/** Whether the order has the units of the reservation, and no others. */
function covers(order: Order, { sku, location, units }: Want): boolean {
  const places = [location, waiting(location)];
  return (
    order.lines.every(line => line.sku === sku && places.includes(line.location)) &&
    order.lines.reduce((sum, line) => sum + line.qty, 0) === units
  );
}

interface Short {
  sku: string;
  location?: string;
  locations?: string[];
}

/** The lines that are short, of a call or of the items of an atomic call. */
function shortLines(error: HoldfastError): Short[] {
  const results = error.problem["results"] as { code?: string; lines?: Short[] }[] | undefined;
  return results?.flatMap(result => (result.code === "not_done" ? [] : (result.lines ?? []))) ?? error.lines;
}

function shortOf(error: HoldfastError, wants: Want[]): MedusaError | undefined {
  if (!isCode(error, "short", "not_all")) return undefined;
  const line = shortLines(error).find(({ sku }) => wants.some(want => want.sku === sku));
  const location = line?.location ?? line?.locations?.[0];
  return line && location ? notEnough(line.sku, location) : undefined;
}
