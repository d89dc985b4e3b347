// A shop: Medusa's module system with the inventory module, on databases of its own.
"use strict";
const assert = require("node:assert/strict");
const { randomBytes } = require("node:crypto");
const { MedusaApp, MedusaModule } = require("@medusajs/framework/modules-sdk");
const { ContainerRegistrationKeys, createPgConnection, Modules } = require("@medusajs/framework/utils");
const { Holdfast } = require("holdfast");

const { POSTGRES, HOLDFAST } = process.env;

/** Starts a shop. `database`: of one that exists, so that several processes may share it. `pool`: what knex is told. */
async function openShop({ database, pool, options = {}, resolve = require("node:path").join(__dirname, "..") } = {}) {
  const url = POSTGRES.replace("DATABASE", database ?? (await makeDatabase()));
  await require("..").default.runMigrations({ options: { database: { clientUrl: url } }, logger: silent });
  const pg = createPgConnection({ clientUrl: url, pool: { min: 0, max: 20, ...pool } });
  const events = [];
  const logger = {
    warn: text => logger.warnings.push(String(text)),
    warnings: [],
    info() {},
    error: console.error,
    debug() {},
    log() {}
  };
  const app = await MedusaApp({
    modulesConfig: {
      [Modules.LINK]: require("@medusajs/link-modules"),
      [Modules.INVENTORY]: { resolve, options: { url: HOLDFAST, background: false, ...options } }
    },
    injectedDependencies: {
      [ContainerRegistrationKeys.PG_CONNECTION]: pg,
      [ContainerRegistrationKeys.LOGGER]: logger,
      [Modules.EVENT_BUS]: {
        async emit(messages) {
          events.push(...[messages].flat());
        },
        async releaseGroupedEvents() {}
      }
    },
    sharedResourcesConfig: { database: { clientUrl: url } },
    cwd: __dirname
  });
  await app.onApplicationStart();
  const inventory = app.modules[Modules.INVENTORY],
    holdfast = new Holdfast(HOLDFAST);
  return {
    database: url.split("/").pop(),
    pg,
    inventory,
    holdfast,
    query: app.query,
    events,
    /** A new item with these quantities at these locations: { bonn: 5 }. */
    async item(stock = {}) {
      const item = await inventory.createInventoryItems({ sku: `SKU-${randomBytes(4).toString("hex")}`, title: "Mug" });
      const levels = Object.entries(stock).map(([location_id, stocked_quantity]) => ({
        inventory_item_id: item.id,
        location_id,
        stocked_quantity
      }));
      if (levels.length) await inventory.createInventoryLevels(levels);
      return item.id;
    },
    reserve: (item, location, quantity, more = {}) =>
      inventory.createReservationItems({ inventory_item_id: item, location_id: location, quantity, ...more }),
    /** stocked, reserved and available of a level, which Holdfast has to agree with. */
    async level(item, location) {
      const level = await inventory.retrieveInventoryLevelByItemAndLocation(item, location);
      const at = Object.fromEntries((await holdfast.sku(item)).locations.map(place => [place.location, place]));
      assert.equal(level.stocked_quantity, (at[location]?.on_hand ?? 0) / 10 ** (options.decimals ?? 0));
      assert.equal(
        level.reserved_quantity,
        ((at[location]?.reserved ?? 0) + (at[`${location}~`]?.reserved ?? 0)) / 10 ** (options.decimals ?? 0)
      );
      return [level.stocked_quantity, level.reserved_quantity, level.available_quantity];
    },
    /** The state of an order, and its lines as { location: units }. */
    async order(id) {
      const [order] = (await holdfast.find({ order_ids: [id] })).items;
      return order && [order.state, Object.fromEntries(order.lines.map(line => [line.location, line.qty]))];
    },
    warnings: logger.warnings,
    sql: async (text, ...bindings) => (await pg.raw(text, bindings)).rows,
    async close() {
      await app.onApplicationPrepareShutdown();
      await app.onApplicationShutdown();
      MedusaModule.clearInstances();
      await pg.context?.destroy();
      await pg.destroy();
    }
  };
}

const silent = { info() {}, warn() {}, error: console.error };

async function makeDatabase() {
  const name = `shop_${randomBytes(6).toString("hex")}`;
  const pg = createPgConnection({ clientUrl: POSTGRES.replace("DATABASE", "postgres"), pool: { min: 0, max: 1 } });
  await pg.raw(`create database ${name}`);
  await pg.destroy();
  return name;
}

/** Repeats a check until it passes, for 10 s at most. */
async function until(check) {
  for (let tries = 1; ; tries++)
    try {
      return await check();
    } catch (error) {
      if (tries === 100) throw error;
      await new Promise(resolve => setTimeout(resolve, 100));
    }
}

module.exports = { openShop, until };
