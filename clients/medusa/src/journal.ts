import { type Knex, knex } from "@medusajs/framework/mikro-orm/postgresql";
import { type Context } from "@medusajs/framework/types";

/** A reservation item and its order in Holdfast. */
export interface Pair {
  reservation: string;
  order: string;
}

/** What Holdfast has to know of a row of reservation_item. */
export interface Row extends Pair {
  inventory_item_id: string;
  location_id: string;
  quantity: string;
  allow_backorder: boolean;
  deleted: boolean;
}

export interface Note extends Pair {
  n: string;
}

/** The parts of MikroORM's manager and of Knex that are used here. */
interface Manager {
  getTransactionContext(): Raw | undefined;
  getKnex(): Raw;
}
interface Raw {
  raw(sql: string, bindings: unknown[]): Promise<{ rows: unknown[] }>;
}

/**
 * The order of a reservation item. The id of a released order is used up, so one that was restored has a number behind
 * it.
 */
const ORDER = "r.id || coalesce('.' || h.number, '')";
const ROW = `select r.id as reservation, ${ORDER} as order, r.inventory_item_id, r.location_id,
  r.raw_quantity->>'value' as quantity, r.allow_backorder, r.deleted_at is not null as deleted
  from reservation_item r left join holdfast_order h on h.reservation_id = r.id`;

/**
 * What this module remembers in PostgreSQL, and how it locks rows.
 *
 * holdfast_order has the number of the order of each reservation item that was deleted once.
 *
 * holdfast_unsettled has a note for each reservation item with an order that may differ from its row. Where the order
 * is changed before the commit, the note is committed before that, so that it stays when the caller's transaction is
 * rolled back. Where the order is changed after the commit, the note is written together with the row. A note is
 * removed when the order is as it should be. So after a crash the notes say where to look.
 *
 * holdfast_state has the cursor of the mirror, and the decimals of quantities.
 */
export const journal = {
  /** Writes notes. Inside a transaction they stand as soon as the rows do. */
  async note(context: Context, pairs: Pair[]): Promise<Note[]> {
    const ns = await run<{ n: string }>(
      context,
      `insert into holdfast_unsettled (reservation_id, order_id)
      select * from unnest(?::text[], ?::text[]) returning n::text`,
      [pairs.map(p => p.reservation), pairs.map(p => p.order)]
    );
    return pairs.map(({ reservation, order }, i) => ({ reservation, order, n: ns[i]!.n }));
  },

  async forget(context: Context, notes: Note[]): Promise<void> {
    if (notes.length)
      await run(context, "delete from holdfast_unsettled where n = any(?::bigint[])", [notes.map(note => note.n)]);
  },

  /** Locks notes until the transaction ends. False: one is gone, as the reconciler has settled it. */
  async lockNotes(context: Context, notes: Note[]): Promise<boolean> {
    const found = await run(context, "select n from holdfast_unsettled where n = any(?::bigint[]) for update", [
      notes.map(note => note.n)
    ]);
    return found.length === notes.length;
  },

  /** Locks the oldest notes behind `after` that are older than `age_s`, and that no other process works on. */
  async oldNotes(context: Context, age_s: number, after: string, limit: number): Promise<Note[]> {
    return await run<Note>(
      context,
      `select u.n::text, reservation_id as reservation, order_id as order from holdfast_unsettled u
      where u.n > ?::bigint and noted_at <= now() - make_interval(secs => ?) order by u.n limit ?
      for update skip locked`,
      [after, age_s, limit]
    );
  },

  async rows(context: Context, reservations: string[]): Promise<Row[]> {
    return await run<Row>(context, `${ROW} where r.id = any(?::text[])`, [reservations]);
  },

  /** The rows of these reservation items, deleted ones, too, locked until the transaction ends. */
  async lock(context: Context, reservations: string[]): Promise<Row[]> {
    return await run<Row>(context, `${ROW} where r.id = any(?::text[]) order by r.id for update of r`, [reservations]);
  },

  /** The same without waiting. `busy` are those that another transaction has locked. */
  async lockIdle(context: Context, reservations: string[]): Promise<{ rows: Row[]; busy: Set<string> }> {
    const rows = await run<Row>(
      context,
      `${ROW} where r.id = any(?::text[]) order by r.id for update of r skip locked`,
      [reservations]
    );
    const seen = await run<{ id: string }>(context, "select id from reservation_item where id = any(?::text[])", [
      reservations
    ]);
    const locked = new Set(rows.map(row => row.reservation));
    return { rows, busy: new Set(seen.map(row => row.id).filter(id => !locked.has(id))) };
  },

  /** A word that is remembered, or an empty text. */
  async state(context: Context, name: string): Promise<string> {
    return (
      (await run<{ value: string }>(context, "select value from holdfast_state where name = ?", [name]))[0]?.value ?? ""
    );
  },

  /** The same, locked until the transaction ends: one process at a time. */
  async lockState(context: Context, name: string): Promise<string> {
    await run(context, "insert into holdfast_state (name, value) values (?, '') on conflict do nothing", [name]);
    return (
      await run<{ value: string }>(context, "select value from holdfast_state where name = ? for update", [name])
    )[0]!.value;
  },

  async setState(context: Context, name: string, value: string): Promise<void> {
    await run(context, "update holdfast_state set value = ? where name = ?", [value, name]);
  },

  /** The items that are stocked anywhere. */
  async stockedItems(context: Context): Promise<string[]> {
    return (
      await run<{ sku: string }>(
        context,
        "select distinct inventory_item_id as sku from inventory_level where deleted_at is null",
        []
      )
    ).map(row => row.sku);
  },

  /** The levels of these items. */
  async levels(context: Context, skus: string[]): Promise<{ id: string; sku: string; location: string }[]> {
    return await run(
      context,
      `select id, inventory_item_id as sku, location_id as location from inventory_level
      where inventory_item_id = any(?::text[]) and deleted_at is null`,
      [skus]
    );
  },

  /** Writes quantities into rows of levels. Rows that have them stay as they are. */
  async copy(
    context: Context,
    levels: { id: string; stocked: string; reserved: string; incoming: string }[]
  ): Promise<void> {
    const raw = (name: string) =>
      `raw_${name}_quantity = jsonb_build_object('value', v.${name}::text, 'precision', 20)`;
    await run(
      context,
      `update inventory_level l set stocked_quantity = v.stocked, reserved_quantity = v.reserved,
      incoming_quantity = v.incoming, ${raw("stocked")}, ${raw("reserved")}, ${raw("incoming")}
      from unnest(?::text[], ?::numeric[], ?::numeric[], ?::numeric[]) v(id, stocked, reserved, incoming)
      where l.id = v.id and (l.stocked_quantity, l.reserved_quantity, l.incoming_quantity)
      is distinct from (v.stocked, v.reserved, v.incoming)`,
      [
        levels.map(level => level.id),
        levels.map(level => level.stocked),
        levels.map(level => level.reserved),
        levels.map(level => level.incoming)
      ]
    );
  },

  /** Gives reservation items another order from now on. */
  async renumber(context: Context, reservations: string[]): Promise<void> {
    await run(
      context,
      `insert into holdfast_order (reservation_id, number) select unnest(?::text[]), 1
      on conflict (reservation_id) do update set number = holdfast_order.number + 1`,
      [reservations]
    );
  }
};

/** Notes are removed together, at most so long after their orders are settled. */
const FORGET_MS = 200;

/**
 * Notes of orders that are as they should be. A note that stays does no harm: the reconciler finds nothing to do.
 */
export class Settled {
  private notes: Note[] = [];
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly connection: () => Context) {}

  add(notes: Note[]): void {
    this.notes.push(...notes);
    this.timer ??= setTimeout(() => this.forget(), FORGET_MS).unref();
  }

  async forget(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await journal.forget(this.connection(), this.notes.splice(0)).catch(() => undefined);
  }
}

/**
 * One connection beside Medusa's pool, for what is committed while a transaction of the caller's is under way. Such
 * transactions may hold the whole pool, and would wait for each other if they took a second connection of it.
 */
export class Beside {
  private own: Knex | undefined;

  constructor(private readonly pool: () => Knex) {}

  context(): Context {
    const { config } = this.pool().client;
    const own = (this.own ??= knex({ ...config, pool: { ...config.pool, min: 0, max: 1 } }));
    const manager: Manager = { getTransactionContext: () => undefined, getKnex: () => own };
    return { manager };
  }

  async close(): Promise<void> {
    await this.own?.destroy();
  }
}

async function run<T>(context: Context, sql: string, bindings: unknown[]): Promise<T[]> {
  const manager = (context.transactionManager ?? context.manager) as Manager;
  return (await (manager.getTransactionContext() ?? manager.getKnex()).raw(sql, bindings)).rows as T[];
}
