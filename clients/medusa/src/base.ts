import { type Context, type InternalModuleDeclaration, type Logger } from "@medusajs/framework/types";
import {
  CommonEvents,
  ContainerRegistrationKeys,
  InjectTransactionManager,
  MedusaContext,
  MedusaError
} from "@medusajs/framework/utils";
import InventoryModuleService from "@medusajs/inventory/dist/services/inventory-module";
import { Holdfast, HoldfastError } from "holdfast";
import { Beside, journal, type Note, type Pair, Settled } from "./journal";
import { Orders, type Want } from "./orders";
import { Mirror } from "./mirror";
import { Reconciler } from "./reconciler";
import { parts } from "./refusal";
import { Stock } from "./stock";
import { Units } from "./units";

/** `options` of the module in medusa-config. */
export interface ModuleOptions {
  /** Where Holdfast listens: http://127.0.0.1:8080. */
  url: string;
  /** A key of Holdfast with the role admin, where it has keys. */
  key?: string;
  /**
   * Decimals of quantities, 0 to 6. Units in Holdfast are quantities times 10 to the power of this; it cannot be
   * changed later.
   */
  decimals?: number;
  /** How long a call waits for a Holdfast that is away, with all of its tries, in seconds. Default: 30. */
  deadline_s?: number;
  /** How long Holdfast keeps units while Medusa's transaction is under way, in seconds. */
  hold_ttl_s?: number;
  /**
   * Whether this process looks for what crashes have left, and keeps the mirror of levels. Default: all but Medusa's
   * servers.
   */
  background?: boolean;
}

/** A row of inventory_level. */
export interface Level {
  id: string;
  inventory_item_id: string;
  location_id: string;
}
export type LevelSpot = Omit<Level, "id">;

/** A note is younger than this while the call that wrote it is at work. */
const NOTE_AGE_S = 5;
const AGAIN_MS = 10_000;
const ADOPT_MAX = 500;

/** What levels and reservation items have in common: options, transactions and what follows them. */
export class BaseService extends InventoryModuleService {
  protected readonly units_: Units;
  protected readonly stock_: Stock;
  protected readonly orders_: Orders;
  protected readonly reconciler_: Reconciler;
  protected readonly mirror_: Mirror;
  protected readonly logger_: Logger;
  private readonly settled_: Settled;
  private readonly own_: Beside;
  private reconciling_: NodeJS.Timeout | undefined;

  /** Medusa calls these at its start and its end. */
  readonly __hooks: Record<string, () => Promise<void>>;

  constructor(container: any, options: ModuleOptions, declaration?: InternalModuleDeclaration) {
    super(container, declaration);
    if (!options?.url)
      throw new MedusaError(MedusaError.Types.INVALID_DATA, "the inventory module of Holdfast has no option `url`");
    const holdfast = new Holdfast(options.url, { key: options.key, deadlineMs: (options.deadline_s ?? 30) * 1000 });
    this.logger_ = container[ContainerRegistrationKeys.LOGGER] ?? console;
    this.units_ = new Units(options.decimals ?? 0);
    this.stock_ = new Stock(holdfast);
    this.orders_ = new Orders(holdfast, this.stock_, options.hold_ttl_s ?? 60);
    this.reconciler_ = new Reconciler(
      this.orders_,
      work => this.transaction_(work),
      row => this.want_(row),
      this.logger_
    );
    this.mirror_ = new Mirror(holdfast, this.stock_, this.units_, work => this.transaction_(work), this.logger_);
    this.settled_ = new Settled(() => ({ manager: this.baseRepository_.getFreshManager() }) as Context);
    this.own_ = new Beside(() => this.baseRepository_.getFreshManager<any>().getKnex());
    const serves = (declaration as { worker_mode?: string } | undefined)?.worker_mode === "server";
    this.__hooks = {
      onApplicationStart: async () => {
        await this.begin_(String(options.decimals ?? 0));
        if (options.background ?? !serves) this.start_();
      },
      onApplicationPrepareShutdown: async () => {
        clearInterval(this.reconciling_);
        this.mirror_.stop();
        await this.settled_.forget();
      },
      onApplicationShutdown: () => this.own_.close()
    };
  }

  private start_(): void {
    void this.mirror_.follow();
    this.reconciling_ = setInterval(() => {
      this.reconcile().catch(error => this.logger_.warn(`Holdfast: the reconciler goes on later: ${error}`));
    }, AGAIN_MS).unref();
  }

  /**
   * The first start on a database of Medusa tells Holdfast what the levels and reservation items say that are there
   * already. It can be repeated, and is until it has succeeded. Nothing can be sold of them before.
   */
  private async begin_(decimals: string): Promise<void> {
    try {
      await this.transaction_(async context => {
        if (await journal.lockState(context, "decimals")) return;
        await this.adopt_(context);
        await journal.setState(context, "decimals", decimals);
      });
    } catch (error) {
      this.logger_.error(
        `Holdfast does not know this shop's stock yet, and is told again in ${AGAIN_MS / 1000} s: ${error}`
      );
      setTimeout(() => this.begin_(decimals), AGAIN_MS).unref();
    }
  }

  private async adopt_(context: Context): Promise<void> {
    const levels = (await this.inventoryLevelService_.list({}, {}, context)) as any[];
    for (const some of parts(levels, ADOPT_MAX)) {
      const ids = [...new Set<string>(some.map(level => level.inventory_item_id))];
      const items = (await this.inventoryItemService_.list({ id: ids }, {}, context)) as any[];
      await this.stock_.make(
        ids.map(id => named(items.find(item => item.id === id) ?? { id })),
        some.map(level => level.location_id)
      );
      await this.stock_.count(
        some.map(level => ({
          sku: level.inventory_item_id,
          location: level.location_id,
          stocked: Math.max(0, this.units_.of(level.stocked_quantity, "stocked_quantity")),
          incoming: Math.max(0, this.units_.of(level.incoming_quantity, "incoming_quantity"))
        }))
      );
    }
    const rows = (await this.reservationItemService_.list({}, { select: ["id"] }, context)) as { id: string }[];
    for (const some of parts(rows, ADOPT_MAX))
      await this.reconciler_.settle(some.map(({ id }) => ({ reservation: id, order: id })));
  }

  /**
   * Settles what crashes and outages have left, as far as it is older than `age_s`. It runs by itself in every
   * process of Medusa but those that only serve requests. The answer is how many reservation items it looked at.
   */
  async reconcile(age_s = NOTE_AGE_S): Promise<number> {
    return await this.reconciler_.run(age_s);
  }

  /** A context outside of the caller's transaction. */
  protected beside_(context: Context): Context {
    return context.transactionManager ? this.own_.context() : context;
  }

  /** Runs `work` in the transaction of the context, or in one of its own. */
  @InjectTransactionManager()
  protected async transaction_<T>(
    work: (context: Context) => Promise<T>,
    @MedusaContext() context: Context = {}
  ): Promise<T> {
    return await work(context);
  }

  /**
   * Runs `write` in a transaction, and `then` once that is committed. If it is not, or if the outcome is unknown, the
   * orders of `pairs` are made what the rows say. An outage of Holdfast after the commit fails no call: the notes that
   * `write` answers are left to the reconciler. A transaction of the caller's own is not waited for; the rows say
   * how it has ended.
   */
  protected async written_<T>(
    context: Context,
    pairs: Pair[],
    write: (context: Context) => Promise<{ notes: Note[]; result: T }>,
    then: (result: T) => Promise<void>
  ): Promise<T> {
    const asRowsSay = (notes: Note[] = []) =>
      this.reconciler_.settle([...pairs, ...notes]).catch(error => this.later_(error));
    const outer = (context.transactionManager as any)?.getTransactionContext();
    let notes: Note[] | undefined;
    outer?.executionPromise.catch(() => undefined).then(() => asRowsSay(notes));
    let written;
    try {
      written = await this.transaction_(write, context);
      notes = written.notes;
    } catch (error) {
      if (!outer) await asRowsSay();
      throw error;
    }
    if (outer) return written.result;
    try {
      await then(written.result);
      this.settled_.add(written.notes);
    } catch (error) {
      if (!(error instanceof HoldfastError)) throw error;
      this.later_(error);
    }
    return written.result;
  }

  private later_(error: unknown): void {
    this.logger_.warn(`Holdfast: the reconciler settles later what this call has left: ${error}`);
  }

  /** What a row, or what a caller wants to be a row, asks of Holdfast. */
  protected want_(row: Pair & LevelSpot & { quantity: any; allow_backorder?: boolean | null }): Want {
    const units = this.units_.of(row.quantity, "quantity");
    if (units <= 0)
      throw new MedusaError(MedusaError.Types.INVALID_DATA, `quantity of a reservation item is not above 0`);
    return {
      reservation: row.reservation,
      order: row.order,
      sku: row.inventory_item_id,
      location: row.location_id,
      units,
      backorder: row.allow_backorder ?? false
    };
  }

  /** The levels of these spots. Medusa's own refusal where one of `required` is missing. */
  protected async levels_(spots: LevelSpot[], context: Context, required: LevelSpot[] = spots): Promise<Level[]> {
    if (!spots.length) return [];
    const levels: Level[] = (await this.inventoryLevelService_.list(
      {
        $or: spots.map(({ inventory_item_id, location_id }) => ({ inventory_item_id, location_id }))
      },
      {},
      context
    )) as any;
    const missing = required.filter(spot => !levels.some(level => isAt(level, spot)));
    if (missing.length)
      throw new MedusaError(
        MedusaError.Types.NOT_FOUND,
        missing
          .map(
            ({ inventory_item_id, location_id }) =>
              `Item ${inventory_item_id} is not stocked at location ${location_id}`
          )
          .join(", ")
      );
    return levels;
  }

  /** Tells the mirror and Medusa's subscribers that quantities of levels have changed. No row is written for it. */
  protected changed_(levels: Level[], context: Context): void {
    this.mirror_.touch(levels.map(level => level.inventory_item_id));
    for (const { id } of levels)
      (this as any).aggregatedEvents({
        action: CommonEvents.UPDATED,
        object: "inventory_level",
        data: { id },
        context
      });
  }

  /** An array for an array, and one for one. */
  protected async serialized_(input: unknown, rows: unknown): Promise<any> {
    const serialized = await this.baseRepository_.serialize<any[]>(rows as any);
    return Array.isArray(input) ? serialized : serialized[0];
  }
}

export function isAt(level: LevelSpot, spot: LevelSpot): boolean {
  return level.inventory_item_id === spot.inventory_item_id && level.location_id === spot.location_id;
}

export function list<T>(one: T | T[]): T[] {
  return Array.isArray(one) ? one : [one];
}

/** How people find the item in Holdfast's console: by the title or sku that it has when it is first stocked. */
export function named({ id, title, sku }: { id: string; title?: string | null; sku?: string | null }): {
  sku: string;
  name?: string;
  barcodes?: string[];
} {
  const name = [title, sku].find(text => text && text.length <= 200 && text === text.trim() && !/\p{C}/u.test(text));
  const barcode = sku && /^[!-~]([ -~]{0,62}[!-~])?$/.test(sku) ? [sku] : undefined;
  return { sku: id, ...defined({ name: name ?? undefined, barcodes: barcode }) };
}

/** Without members that are undefined. */
export function defined<T extends object>(of: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(of ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
