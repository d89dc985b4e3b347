import { setTimeout } from "node:timers/promises";
import { type Context, type Logger } from "@medusajs/framework/types";
import { type Holdfast } from "holdfast";
import { journal } from "./journal";
import { isCode, parts } from "./refusal";
import { type Stock } from "./stock";
import { type Units } from "./units";

const SKUS_MAX = 500;
const WAIT_S = 20;
const PAUSE_MS = 5000;

/**
 * Copies quantities into the columns of inventory_level, so that PostgreSQL can filter and sort by them. The copies
 * are never answered: a level that is read shows what Holdfast says at that moment.
 *
 * A copy follows the events `stock.changed`, which Holdfast writes within a second or two of a change, and the
 * writes of this process at once. Any number of processes may run a mirror: the row of the cursor is locked while
 * one is at work.
 */
export class Mirror {
  private readonly touched = new Set<string>();
  private readonly ender = new AbortController();

  constructor(
    private readonly holdfast: Holdfast,
    private readonly stock: Stock,
    private readonly units: Units,
    private readonly transaction: <T>(work: (context: Context) => Promise<T>) => Promise<T>,
    private readonly logger: Pick<Logger, "warn">
  ) {}

  /** Says that quantities of these items have changed by a call of this process. */
  touch(skus: string[]): void {
    for (const sku of skus) this.touched.add(sku);
  }

  /** Brings the copies up to date. */
  async catchUp(): Promise<void> {
    await this.transaction(async context => {
      const before = await journal.lockState(context, "cursor");
      const skus = new Set(this.touched);
      this.touched.clear();
      try {
        const { cursor, changed } = await this.#changes(before);
        for (const sku of changed ?? (await journal.stockedItems(context))) skus.add(sku);
        await this.#copy(context, [...skus]);
        if (cursor !== before) await journal.setState(context, "cursor", cursor);
      } catch (error) {
        this.touch([...skus]);
        throw error;
      }
    });
  }

  /** What has changed since the cursor. Without `changed` the changes are unknown: every item is copied. */
  async #changes(cursor: string): Promise<{ cursor: string; changed?: string[] }> {
    try {
      if (!cursor) return { cursor: (await this.holdfast.events({ after: "now" })).next_cursor };
      const changed: string[] = [];
      for (let page; page?.more !== false; cursor = page.next_cursor) {
        page = await this.holdfast.events({ after: cursor, types: "stock.changed", limit: 1000 });
        for (const event of page.items)
          for (const item of (event.data as { items?: { sku: string }[] }).items ?? []) changed.push(item.sku);
      }
      return { cursor, changed };
    } catch (error) {
      if (isCode(error, "cursor_expired")) return await this.#changes("");
      if (isCode(error, "events_off")) return { cursor: "" };
      throw error;
    }
  }

  async #copy(context: Context, skus: string[]): Promise<void> {
    for (const some of parts(skus, SKUS_MAX)) {
      const levels = await journal.levels(context, some);
      const at = await this.stock.read(levels);
      await journal.copy(
        context,
        levels.map(({ id, ...spot }) => {
          const { stocked, reserved, incoming } = at(spot);
          return { id, stocked: this.#text(stocked), reserved: this.#text(reserved), incoming: this.#text(incoming) };
        })
      );
    }
  }

  #text(units: number): string {
    return String(this.units.quantity(units).numeric);
  }

  /** Follows Holdfast until `stop`. */
  async follow(): Promise<void> {
    const { signal } = this.ender;
    while (!signal.aborted)
      try {
        await this.catchUp();
        const after = await this.transaction(context => journal.state(context, "cursor"));
        if (after) await this.holdfast.events({ after, types: "stock.changed", limit: 1, wait_s: WAIT_S }, { signal });
        else await pause(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.logger.warn(`Holdfast: the mirror of levels goes on later: ${error}`);
        await pause(signal);
      }
  }

  stop(): void {
    this.ender.abort();
  }
}

/** Waits for so long, or until the signal. */
export async function pause(signal: AbortSignal, ms = PAUSE_MS): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined);
}
