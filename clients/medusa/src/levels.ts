import { type BigNumberInput, type Context } from "@medusajs/framework/types";
import { BigNumber, EmitEvents, InjectManager, MathBN, MedusaContext, MedusaError } from "@medusajs/framework/utils";
import InventoryModuleService from "@medusajs/inventory/dist/services/inventory-module";
import { BaseService, isAt, type Level, type LevelSpot, list, named } from "./base";
import { type Quantities, type Spot } from "./stock";

const QUANTITIES = ["stocked_quantity", "reserved_quantity", "incoming_quantity", "available_quantity"] as const;

/** Filters and orders that name a quantity of levels. */
const COPIED = /"(stocked|reserved|incoming)_quantity"/;

/**
 * Levels: where an item is stocked is a row, how many units there are is asked of Holdfast whenever a level is read.
 */
export class LevelsService extends BaseService {
  // ---- reading

  override async retrieveAvailableQuantity(item: string, locations: string[], context?: Context): Promise<BigNumber> {
    return await this.sum_(item, locations, ({ stocked, reserved }) => stocked - reserved, context);
  }

  override async retrieveStockedQuantity(item: string, locations: string[], context?: Context): Promise<BigNumber> {
    return await this.sum_(item, locations, ({ stocked }) => stocked, context);
  }

  override async retrieveReservedQuantity(item: string, locations: string[], context?: Context): Promise<BigNumber> {
    return await this.sum_(item, locations, ({ reserved }) => reserved, context);
  }

  private async sum_(
    inventory_item_id: string,
    locations: string[],
    of: (at: Quantities) => number,
    context: Context = {}
  ): Promise<BigNumber> {
    if (!locations.length) return new BigNumber(0);
    await this.inventoryItemService_.retrieve(inventory_item_id, { select: ["id"] }, context);
    const levels = await this.levels_(
      locations.map(location_id => ({ inventory_item_id, location_id })),
      context,
      []
    );
    const at = await this.stock_.read(levels.map(spotOf));
    return this.units_.quantity(levels.reduce((sum, level) => sum + of(at(spotOf(level))), 0));
  }

  /**
   * Puts quantities of Holdfast into serialized levels, and into levels of serialized items, wherever they stand.
   * Members that were not selected stay away.
   */
  async filled_<T>(model: Model, rows: T, context: Context = {}): Promise<T> {
    const found: Found = { levels: [], items: [] };
    collect(model, rows, found);
    const spots: Level[] = [...found.levels.filter(level => level.inventory_item_id && level.location_id)];
    const bare = found.levels.filter(level => !spots.includes(level)).map(level => level.id);
    const items = found.items.map(item => item.id);
    if (bare.length || items.length)
      spots.push(
        ...((await this.inventoryLevelService_.list(
          { $or: [{ id: bare }, { inventory_item_id: items }] },
          {},
          context
        )) as any[])
      );
    if (!spots.length && !items.length) return rows;
    const at = await this.stock_.read(spots.map(spotOf));
    for (const level of found.levels) {
      const spot = spots.find(one => one.id === level.id);
      if (spot) this.fill_(level, at(spotOf(spot)));
    }
    for (const item of found.items) {
      const all = [
        ...new Map(spots.filter(spot => spot.inventory_item_id === item.id).map(spot => [spot.id, spot])).values()
      ];
      for (const name of ["stocked", "reserved"] as const)
        if (`${name}_quantity` in item)
          item[`${name}_quantity`] = this.units_.quantity(
            all.reduce((sum, level) => sum + at(spotOf(level))[name], 0)
          ).numeric;
    }
    return rows;
  }

  private fill_(level: any, { stocked, reserved, incoming }: Quantities): void {
    const now = {
      stocked_quantity: stocked,
      reserved_quantity: reserved,
      incoming_quantity: incoming,
      available_quantity: stocked - reserved
    };
    for (const name of QUANTITIES) {
      const quantity = this.units_.quantity(now[name]);
      if (name in level) level[name] = quantity.numeric;
      if (`raw_${name}` in level) level[`raw_${name}`] = { ...quantity.raw, value: String(MathBN.convert(quantity)) };
    }
  }

  // ---- writing

  @InjectManager()
  @EmitEvents()
  override async createInventoryLevels(input: any, @MedusaContext() context: Context = {}): Promise<any> {
    const levels = list(input);
    const counts = levels.map(level => ({
      ...spotOf(level),
      stocked: this.stocked_(level) ?? 0,
      incoming: this.incoming_(level)
    }));
    const rows = await this.transaction_(async tx => {
      const items = (await this.inventoryItemService_.list(
        { id: levels.map(level => level.inventory_item_id) },
        {},
        tx
      )) as any[];
      const made = await this.inventoryLevelService_.create(levels.map(described), tx);
      await (tx.transactionManager as any).flush();
      await this.stock_.make(
        items.map(named),
        counts.map(count => count.location)
      );
      await this.stock_.count(counts);
      return made;
    }, context);
    this.mirror_.touch(counts.map(count => count.sku));
    return await this.answered_(input, rows, context);
  }

  @InjectManager()
  @EmitEvents()
  override async updateInventoryLevels(input: any, @MedusaContext() context: Context = {}): Promise<any> {
    const updates = list(input);
    const levels = await this.levels_(updates, context);
    const counts = updates.map(update => ({
      ...spotOf(update),
      stocked: this.stocked_(update),
      incoming: this.incoming_(update)
    }));
    const rows = await this.transaction_(async tx => {
      const changed: Level[] = await this.inventoryLevelService_.update(
        updates.map(update => ({ ...described(update), id: levels.find(level => isAt(level, update))!.id })) as any,
        tx
      );
      await (tx.transactionManager as any).flush();
      await this.stock_.count(counts);
      return updates.map(update => changed.find(level => isAt(level, update)));
    }, context);
    this.changed_(levels, context);
    return await this.answered_(input, rows, context);
  }

  @InjectManager()
  @EmitEvents()
  override async adjustInventory(
    input: any,
    location?: any,
    adjustment?: any,
    @MedusaContext() context: Context = {}
  ): Promise<any> {
    const all: { inventoryItemId: string; locationId: string; adjustment: BigNumberInput }[] = Array.isArray(input)
      ? input
      : [{ inventoryItemId: input, locationId: location, adjustment }];
    const spots: LevelSpot[] = all.map(({ inventoryItemId, locationId }) => ({
      inventory_item_id: inventoryItemId,
      location_id: locationId
    }));
    const levels = await this.levels_(spots, context, []);
    const missing = spots.find(spot => !levels.some(level => isAt(level, spot)));
    if (missing) throw noLevel(missing);
    await this.stock_.adjust(
      all.map((one, i) => ({ ...spotOf(spots[i]!), by: this.units_.of(one.adjustment, "adjustment") }))
    );
    this.changed_(levels, context);
    return await this.answered_(
      input,
      spots.map(spot => levels.find(level => isAt(level, spot))),
      context
    );
  }

  @InjectManager()
  @EmitEvents()
  override async deleteInventoryLevel(
    inventory_item_id: string,
    location_id: string,
    @MedusaContext() context: Context = {}
  ): Promise<void> {
    const levels = await this.levels_([{ inventory_item_id, location_id }], context, []);
    await this.removeLevels_(levels, context, tx =>
      this.inventoryLevelService_.delete(
        levels.map(level => level.id),
        tx
      )
    );
  }

  @InjectManager()
  @EmitEvents()
  async deleteLevels_(ids: string[], @MedusaContext() context: Context = {}): Promise<void> {
    const levels = (await this.inventoryLevelService_.list({ id: ids }, {}, context)) as Level[];
    await this.removeLevels_(levels, context, tx => this.inventoryLevelService_.delete(ids, tx));
  }

  /**
   * Deletes rows of levels for good. Then nothing is stocked there any more, as far as no new level says otherwise.
   * A level that is deleted softly keeps its units, since it may be restored.
   */
  protected async removeLevels_(
    levels: Level[],
    context: Context,
    remove: (context: Context) => Promise<unknown>
  ): Promise<void> {
    await this.transaction_(async tx => {
      await remove(tx);
      await this.stock_.count(levels.map(level => ({ ...spotOf(level), stocked: 0, incoming: 0 })));
    }, context);
  }

  private async answered_(input: unknown, rows: unknown, context: Context): Promise<any> {
    const serialized = await this.serialized_(Array.isArray(input) ? input : [input], rows);
    await this.filled_("InventoryLevel", serialized, context);
    return Array.isArray(input) ? serialized : serialized[0];
  }

  private stocked_(level: { stocked_quantity?: BigNumberInput }): number | undefined {
    return level.stocked_quantity === undefined
      ? undefined
      : this.units_.notBelowZero(level.stocked_quantity, "stocked_quantity");
  }

  private incoming_(level: { incoming_quantity?: BigNumberInput }): number | undefined {
    return level.incoming_quantity === undefined
      ? undefined
      : this.units_.notBelowZero(level.incoming_quantity, "incoming_quantity");
  }
}

/** Medusa's own reads, which all have the context third. PostgreSQL filters and sorts by the copies of the mirror. */
for (const read of ["list", "listAndCount", "retrieve"])
  for (const model of ["InventoryLevel", "InventoryItem", "ReservationItem"] as const) {
    const name = `${read}${model}${read === "retrieve" ? "" : "s"}`;
    const original = (InventoryModuleService.prototype as any)[name];
    (LevelsService.prototype as any)[name] = async function (this: LevelsService, ...args: any[]): Promise<unknown> {
      if (read !== "retrieve" && COPIED.test(JSON.stringify([args[0], args[1]?.order]) ?? ""))
        await this.mirror_.catchUp();
      return await this.filled_(model, await original.apply(this, args), args[2]);
    };
  }

/** This one is a property in Medusa's types, so the class cannot override it. */
(LevelsService.prototype as any).deleteInventoryLevels = function (
  this: LevelsService,
  ids: string | string[],
  context?: Context
) {
  return this.deleteLevels_(list(ids), context);
};

function spotOf(level: LevelSpot): Spot {
  return { sku: level.inventory_item_id, location: level.location_id };
}

/** A level without its quantities: the row that describes it. */
function described(level: any): any {
  return Object.fromEntries(
    Object.entries(level).filter(([name]) => !QUANTITIES.some(one => name === one || name === `raw_${one}`))
  );
}

type Model = "InventoryLevel" | "InventoryItem" | "ReservationItem";
interface Found {
  levels: any[];
  items: any[];
}

/** Finds the levels in serialized rows, and items that show sums over their levels. */
function collect(model: Model, value: any, found: Found): void {
  if (Array.isArray(value)) for (const one of value) collect(model, one, found);
  if (!value?.id) return;
  if (model === "InventoryLevel") found.levels.push(value);
  if (model === "InventoryItem" && (value.stocked_quantity !== undefined || value.reserved_quantity !== undefined))
    found.items.push(value);
  collect("InventoryLevel", value.location_levels, found);
  collect("InventoryItem", value.inventory_item, found);
  collect("ReservationItem", value.reservation_items, found);
}

function noLevel({ inventory_item_id, location_id }: LevelSpot): MedusaError {
  return new MedusaError(
    MedusaError.Types.NOT_FOUND,
    `Inventory level for item ${inventory_item_id} and location ${location_id} not found`
  );
}
