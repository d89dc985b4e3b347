import { createHash, randomUUID } from "node:crypto";
import { MedusaError } from "@medusajs/framework/utils";
import { type Ask, type Holdfast } from "holdfast";
import { isCode, parts, refused } from "./refusal";

/** An inventory item, which is a sku of Holdfast, at a stock location, which is a location of Holdfast. */
export interface Spot {
  sku: string;
  location: string;
}

/** The units of a spot, as Medusa's levels count them. */
export interface Quantities {
  stocked: number;
  reserved: number;
  incoming: number;
}

/** Where orders wait that were taken beyond the stock of a location, or that lost their units there. */
export const waiting = (location: string): string => `${location}~`;
/** Where units are that a supplier owes to a location: Medusa's incoming_quantity. */
export const coming = (location: string): string => `${location}+`;

const NONE: Quantities = { stocked: 0, reserved: 0, incoming: 0 };
const LINES_MAX = 1000;
const SKUS_MAX = 500;
/** Calls that are made at the same moment: each has a connection of its own. */
const CALLS_MAX = 16;

/** Stock in Holdfast: reading, counting and adjusting it. */
export class Stock {
  readonly #known = new Set<string>();

  constructor(private readonly holdfast: Holdfast) {}

  /** The quantities at every spot, from one read of Holdfast for up to 500 skus. */
  async read(spots: Spot[]): Promise<(spot: Spot) => Quantities> {
    const bySku = new Map<string, Map<string, { on_hand: number; reserved: number; available: number }>>();
    for (const skus of parts([...new Set(spots.map(spot => spot.sku))], SKUS_MAX))
      for (const item of await this.#items(skus))
        if (!("code" in item)) bySku.set(item.sku, new Map(item.locations.map(at => [at.location, at])));
    return ({ sku, location }) => {
      const at = bySku.get(sku);
      if (!at) return NONE;
      const here = at.get(location),
        queue = at.get(waiting(location)),
        owed = at.get(coming(location));
      return {
        stocked: here?.on_hand ?? 0,
        reserved: (here?.reserved ?? 0) + (queue?.reserved ?? 0),
        incoming: (owed?.available ?? 0) + (owed?.reserved ?? 0)
      };
    };
  }

  async #items(skus: string[]): Promise<Awaited<ReturnType<Holdfast["stock"]>>["items"]> {
    try {
      return (await this.holdfast.stock({ skus })).items;
    } catch (error) {
      if (!isCode(error, "too_large") || skus.length === 1) throw refused(error);
      const half = Math.ceil(skus.length / 2);
      return [...(await this.#items(skus.slice(0, half))), ...(await this.#items(skus.slice(half)))];
    }
  }

  /** Makes the skus and the locations of levels. A location is asked for once by a process. */
  async make(skus: { sku: string; name?: string; barcodes?: string[] }[], locations: string[]): Promise<void> {
    try {
      for (const some of parts(skus, CALLS_MAX))
        await Promise.all(some.map(({ sku, ...named }) => this.holdfast.setSku(sku, named)));
      for (const location of new Set(locations)) {
        if (this.#known.has(location)) continue;
        await this.holdfast.setLocation(waiting(location), { kind: "incoming" });
        await this.holdfast.setLocation(coming(location), { kind: "incoming" });
        await this.holdfast.setLocation(location, { waits_at: waiting(location) });
        this.#known.add(location);
      }
    } catch (error) {
      throw refused(error);
    }
  }

  /** Says what is there, and what is owed. Orders that lose units by it wait. */
  async count(counts: (Spot & { stocked?: number; incoming?: number })[]): Promise<void> {
    await this.#move(
      "count",
      counts.flatMap(({ sku, location, stocked, incoming }) => [
        ...(stocked === undefined ? [] : [{ sku, location, counted: stocked, short: "backorder" as const }]),
        ...(incoming === undefined ? [] : [{ sku, location: coming(location), counted: incoming }])
      ])
    );
  }

  /** Adds units or takes them away. Available units go first; orders that lose units by it wait. */
  async adjust(adjustments: (Spot & { by: number })[]): Promise<void> {
    const sums = new Map<string, Spot & { by: number }>();
    for (const { sku, location, by } of adjustments) {
      const key = JSON.stringify([sku, location]);
      sums.set(key, { sku, location, by: (sums.get(key)?.by ?? 0) + by });
    }
    await this.#move(
      "adjustment",
      [...sums.values()]
        .filter(({ by }) => by !== 0)
        .map(({ sku, location, by }) =>
          by > 0 ? { sku, location, qty: by } : { sku, location, qty: by, short: "backorder" as const }
        )
    );
  }

  /** All lines are one step, up to 1,000 of them. */
  async #move(kind: "count" | "adjustment", lines: object[]): Promise<void> {
    for (const some of parts(lines, LINES_MAX))
      try {
        await this.holdfast.move({
          movement_id: `medusa/${randomUUID()}`,
          kind,
          lines: some
        } as unknown as Ask<"move">);
      } catch (error) {
        if (isCode(error, "short"))
          throw new MedusaError(
            MedusaError.Types.NOT_ALLOWED,
            "The stock cannot fall below 0, nor below what is being shipped: " +
              error.lines.map(line => `item ${line.sku} at location ${line.location}`).join(", ")
          );
        throw refused(error);
      }
  }

  /**
   * Lets any number of orders wait for units of a spot. An order takes at most what is promised where it waits, so
   * that promise is as large as a movement can be. All processes make it under one id, so it is made once.
   */
  async promise({ sku, location }: Spot): Promise<void> {
    await this.make([], [location]);
    const lines = [{ sku, location: waiting(location), qty: 1e12 }];
    const id = createHash("sha256")
      .update(JSON.stringify([sku, location]))
      .digest("hex")
      .slice(0, 40);
    await this.holdfast.move({
      movement_id: `medusa/promise/${id}`,
      kind: "receipt",
      reason: "Medusa's backorders",
      lines
    });
  }
}
