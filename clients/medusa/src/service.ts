import { type Context } from "@medusajs/framework/types";
import { EmitEvents, generateEntityId, InjectManager, MedusaContext, MedusaError } from "@medusajs/framework/utils";
import InventoryModuleService from "@medusajs/inventory/dist/services/inventory-module";
import { defined, type Level, list } from "./base";
import { journal, type Row } from "./journal";
import { LevelsService } from "./levels";
import { type Want } from "./orders";
import { notEnough } from "./refusal";

/** Reservation items that were updated, what their orders are to be, and the versions of these. */
interface Moved {
  rows: unknown[];
  to: Want[];
  versions: Map<string, number>;
}

/**
 * Medusa's inventory module with its quantities in Holdfast.
 *
 * Items, levels and reservation items are rows of PostgreSQL, as in Medusa's own module. How many units there are,
 * and which of them are promised, only Holdfast says. A reservation item is written in this order: Holdfast holds
 * the units for a limited time, PostgreSQL commits the row, Holdfast confirms. Units are given back after the
 * commit.
 */
export default class HoldfastInventoryService extends LevelsService {
  @InjectManager()
  @EmitEvents()
  override async createReservationItems(input: any, @MedusaContext() context: Context = {}): Promise<any> {
    const items = list(input).map(item => ({ ...item, id: generateEntityId(item.id, "resitem") }));
    const wants = items.map(item => this.want_({ ...item, reservation: item.id, order: item.id }));
    const levels = await this.levels_(items, context);
    await this.orders_.hold(wants);
    const rows = await this.written_<unknown[]>(
      context,
      wants,
      async tx => {
        const notes = await journal.note(tx, wants);
        return { notes, result: await this.reservationItemService_.create(items, tx) };
      },
      async () => {
        const gone = await this.orders_.confirm(wants);
        if (!gone.length) return;
        await this.deleteReservationItems(
          wants.map(want => want.reservation),
          context
        );
        throw notEnough(gone[0]!.sku, gone[0]!.location);
      }
    );
    this.changed_(levels, context);
    return await this.serialized_(input, rows);
  }

  @InjectManager()
  @EmitEvents()
  override async updateReservationItems(input: any, @MedusaContext() context: Context = {}): Promise<any> {
    const updates: any[] = list(input);
    const ids = updates.map(update => update.id);
    const rows = (await this.reservationItemService_.list({ id: ids }, {}, context)) as any[];
    const missing = ids.filter(id => !rows.some(row => row.id === id));
    if (missing.length)
      throw new MedusaError(MedusaError.Types.INVALID_DATA, `Reservation item with id ${missing.join(", ")} not found`);
    const moves = updates.filter(update =>
      ["quantity", "location_id", "inventory_item_id"].some(name => update[name] !== undefined)
    );
    const next = moves.map(update => ({ ...rows.find(row => row.id === update.id), ...defined(update) }));
    const levels = await this.levels_(
      [...rows.filter(row => moves.some(move => move.id === row.id)), ...next],
      context,
      next
    );
    const updated: any[] = moves.length
      ? await this.moved_(context, updates, moves)
      : await this.transaction_(tx => this.reservationItemService_.update(updates, tx), context);
    this.changed_(levels, context);
    return await this.serialized_(
      input,
      ids.map(id => updated.find(row => row.id === id))
    );
  }

  /**
   * Updates rows with other units than before: more, fewer, or elsewhere. Holdfast hears of it before the commit, so
   * the notes are committed before that, whatever becomes of a transaction of the caller's.
   */
  private async moved_(context: Context, updates: any[], moves: any[]): Promise<unknown[]> {
    const ids = moves.map(move => move.id);
    const beside = this.beside_(context);
    for (;;) {
      const notes = await journal.note(beside, await journal.rows(context, ids));
      const done = await this.written_<Moved | undefined>(
        context,
        notes,
        async tx => {
          if (!(await journal.lockNotes(tx, notes))) return { notes, result: undefined };
          const from = await journal.lock(tx, ids);
          const to = from.map(row =>
            this.want_({ ...row, ...defined(moves.find(move => move.id === row.reservation)) })
          );
          const versions = await this.orders_.widen(
            from.map(row => this.want_(row)),
            to
          );
          return { notes, result: { to, versions, rows: await this.reservationItemService_.update(updates, tx) } };
        },
        async result => {
          if (result) await this.reconciler_.settle(await this.orders_.narrow(result.to, result.versions));
        }
      );
      if (done) return done.rows;
      if (!(await journal.lockNotes(beside, notes))) continue;
      await journal.forget(beside, notes);
      throw new MedusaError(
        MedusaError.Types.INVALID_DATA,
        "Reservation items get other units in a transaction of the isolation level READ COMMITTED alone"
      );
    }
  }

  @InjectManager()
  @EmitEvents()
  override async deleteReservationItems(ids: any, @MedusaContext() context: Context = {}): Promise<void> {
    await this.remove_("delete", list(ids), context, tx => this.reservationItemService_.delete(ids, tx));
  }

  @InjectManager()
  @EmitEvents()
  override async softDeleteReservationItems(
    ids: any,
    _config?: any,
    @MedusaContext() context: Context = {}
  ): Promise<void> {
    await this.softDelete_({ id: list(ids) }, context);
  }

  @InjectManager()
  @EmitEvents()
  override async deleteReservationItemByLocationId(
    location_id: any,
    @MedusaContext() context: Context = {}
  ): Promise<void> {
    await this.softDelete_({ location_id }, context);
  }

  @InjectManager()
  @EmitEvents()
  override async deleteReservationItemsByLineItem(
    line_item_id: any,
    @MedusaContext() context: Context = {}
  ): Promise<void> {
    await this.softDelete_({ line_item_id }, context);
  }

  @InjectManager()
  @EmitEvents()
  override async restoreReservationItems(
    ids: any,
    _config?: any,
    @MedusaContext() context: Context = {}
  ): Promise<void> {
    await this.restore_({ id: list(ids) }, context, (found, tx) => this.reservationItemService_.restore(found, tx));
  }

  @InjectManager()
  @EmitEvents()
  override async restoreReservationItemsByLineItem(
    line_item_id: any,
    @MedusaContext() context: Context = {}
  ): Promise<void> {
    await this.restore_({ line_item_id }, context, (found, tx) => this.reservationItemService_.restore(found, tx));
  }

  private async softDelete_(filter: object, context: Context): Promise<void> {
    const ids = await this.reservations_(filter, context);
    await this.remove_("softDelete", ids, context, tx => this.reservationItemService_.softDelete(ids, tx));
  }

  private async reservations_(filter: object, context: Context, withDeleted = false): Promise<string[]> {
    return (await this.reservationItemService_.list(filter, { select: ["id"], withDeleted }, context)).map(
      (row: any) => row.id
    );
  }

  /** Deletes rows of reservation items by `remove`, and then releases their orders. */
  private async remove_<T>(
    how: "delete" | "softDelete",
    ids: string[],
    context: Context,
    remove: (context: Context) => Promise<T>
  ): Promise<T> {
    const { rows, removed } = await this.written_<{ rows: Row[]; removed: T }>(
      context,
      [],
      async tx => {
        const rows = (await journal.lock(tx, ids)).filter(row => !row.deleted);
        const notes = await journal.note(tx, rows);
        if (how === "softDelete")
          await journal.renumber(
            tx,
            rows.map(row => row.reservation)
          );
        return { notes, result: { rows, removed: await remove(tx) } };
      },
      ({ rows }) => this.orders_.release(rows.map(row => row.order))
    );
    this.changed_(await this.levels_(rows, context, []), context);
    return removed;
  }

  /**
   * Restores rows. It undoes a step that failed, so it is not refused: where units are gone meanwhile, orders wait.
   */
  private async restore_<T>(
    filter: object,
    context: Context,
    restore: (ids: string[], context: Context) => Promise<T>
  ): Promise<T> {
    const { rows, restored } = await this.written_<{ rows: Row[]; restored: T }>(
      context,
      [],
      async tx => {
        const rows = (await journal.lock(tx, await this.reservations_(filter, tx, true))).filter(row => row.deleted);
        const notes = await journal.note(tx, rows);
        return {
          notes,
          result: {
            rows,
            restored: await restore(
              rows.map(row => row.reservation),
              tx
            )
          }
        };
      },
      ({ rows }) => this.reconciler_.settle(rows)
    );
    this.changed_(await this.levels_(rows, context, []), context);
    return restored;
  }

  // ---- items, with which their levels and reservation items are deleted and restored

  @InjectManager()
  @EmitEvents()
  async deleteItems_(ids: string[], @MedusaContext() context: Context = {}): Promise<void> {
    const levels = (await this.inventoryLevelService_.list({ inventory_item_id: ids }, {}, context)) as Level[];
    const reservations = await this.reservations_({ inventory_item_id: ids }, context);
    await this.remove_("delete", reservations, context, tx =>
      this.removeLevels_(levels, tx, () => this.inventoryItemService_.delete(ids, tx))
    );
  }

  @InjectManager()
  @EmitEvents()
  async softDeleteItems_(ids: string[], config: any, @MedusaContext() context: Context = {}): Promise<any> {
    const reservations = await this.reservations_({ inventory_item_id: ids }, context);
    return await this.remove_("softDelete", reservations, context, tx =>
      medusa.softDeleteInventoryItems.call(this, ids, config, tx)
    );
  }

  @InjectManager()
  @EmitEvents()
  async restoreItems_(ids: string[], config: any, @MedusaContext() context: Context = {}): Promise<any> {
    return await this.restore_({ inventory_item_id: ids }, context, (_, tx) =>
      medusa.restoreInventoryItems.call(this, ids, config, tx)
    );
  }
}

/** Medusa's types call these properties, so the class cannot override them. */
const medusa = InventoryModuleService.prototype as any;
Object.assign(HoldfastInventoryService.prototype, {
  deleteInventoryItems(this: HoldfastInventoryService, ids: string | string[], context?: Context) {
    return this.deleteItems_(list(ids), context);
  },
  softDeleteInventoryItems(this: HoldfastInventoryService, ids: string | string[], config?: object, context?: Context) {
    return this.softDeleteItems_(list(ids), config, context);
  },
  restoreInventoryItems(this: HoldfastInventoryService, ids: string | string[], config?: object, context?: Context) {
    return this.restoreItems_(list(ids), config, context);
  }
});
