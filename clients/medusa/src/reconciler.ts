import { type Context, type Logger } from "@medusajs/framework/types";
import { MedusaError } from "@medusajs/framework/utils";
import { HoldfastError } from "holdfast";
import { journal, type Note, type Pair, type Row } from "./journal";
import { type Orders, type Want } from "./orders";

const NOTES_MAX = 100;
const NUMBERS_MAX = 5;
/** Statuses that another try will not change. */
const REFUSALS = { 400: true, 409: true, 422: true };

/** Makes orders in Holdfast as the rows of reservation items say: after a failure, and of what a crash has left. */
export class Reconciler {
  /** `transaction` runs a function in a transaction of its own. `want` reads a row. */
  constructor(
    private readonly orders: Orders,
    private readonly transaction: <T>(work: (context: Context) => Promise<T>) => Promise<T>,
    private readonly want: (row: Row) => Want,
    private readonly logger: Pick<Logger, "warn">
  ) {}

  /** Of these reservation items, at once; their notes are removed. A transaction that has a row now is waited for. */
  async settle(pairs: (Pair | Note)[]): Promise<void> {
    await this.transaction(async context => {
      const rows = await journal.lock(
        context,
        pairs.map(pair => pair.reservation)
      );
      const failed = await this.#settle(context, pairs, rows);
      await journal.forget(
        context,
        pairs.filter(pair => "n" in pair).filter(note => !failed.has(note.reservation))
      );
    });
  }

  /**
   * Of every note that is older than `age_s`, each once: notes that cannot be settled keep no other one from its turn.
   * The answer is how many were settled.
   */
  async run(age_s: number): Promise<number> {
    for (let settled = 0, after = "0"; ; ) {
      const { old, done } = await this.transaction(async context => {
        const old = await journal.oldNotes(context, age_s, after, NOTES_MAX);
        const { rows, busy } = await journal.lockIdle(
          context,
          old.map(note => note.reservation)
        );
        const idle = old.filter(note => !busy.has(note.reservation));
        const failed = await this.#settle(context, idle, rows);
        const notes = idle.filter(note => !failed.has(note.reservation));
        await journal.forget(context, notes);
        return { old, done: notes.length };
      });
      settled += done;
      if (old.length < NOTES_MAX) return settled;
      after = old.at(-1)!.n;
    }
  }

  /**
   * `rows` are locked. An order of `pairs` that is of no row, or not of a row any more, is released. The answer has
   * reservation items that cannot be settled. Their notes stay, and an operator has to look at them.
   */
  async #settle(context: Context, pairs: Pair[], rows: Row[]): Promise<Set<string>> {
    const live = new Map(rows.filter(row => !row.deleted).map(row => [row.reservation, row]));
    await this.orders.release(
      pairs.filter(pair => live.get(pair.reservation)?.order !== pair.order).map(pair => pair.order)
    );
    const found = await this.orders.find([...live.values()].map(row => row.order));
    const failed = new Set<string>();
    for (const row of live.values())
      try {
        await this.#settleRow(context, this.want(row), found);
      } catch (error) {
        if (!(error instanceof MedusaError) && !(error instanceof HoldfastError && error.status in REFUSALS))
          throw error;
        this.logger.warn(`Holdfast: reservation item ${row.reservation} cannot be settled: ${error.message}`);
        failed.add(row.reservation);
      }
    return failed;
  }

  async #settleRow(context: Context, want: Want, found: Awaited<ReturnType<Orders["find"]>>): Promise<void> {
    for (let numbers = 0; !(await this.orders.settle(want, found.get(want.order))); numbers++) {
      if (numbers === NUMBERS_MAX)
        throw new MedusaError(
          MedusaError.Types.UNEXPECTED_STATE,
          `${NUMBERS_MAX} orders after ${want.order} are used up`
        );
      await journal.renumber(context, [want.reservation]);
      const { order } = (await journal.lock(context, [want.reservation]))[0]!;
      this.logger.warn(
        `Holdfast: order ${want.order} of reservation item ${want.reservation} has no units any more; ` +
          `${order} takes them, or waits for them`
      );
      want = { ...want, order };
      found = await this.orders.find([order]);
    }
  }
}
