"use strict";
const assert = require("node:assert/strict");
const { after, before, describe, it } = require("node:test");
const { openShop } = require("./shop");

describe("levels", () => {
  let shop, inventory;
  before(async () => {
    shop = await openShop();
    inventory = shop.inventory;
  });
  after(() => shop.close());

  it("are made with what is stocked and what is owed", async () => {
    const item = await shop.item();
    const level = await inventory.createInventoryLevels({
      inventory_item_id: item,
      location_id: "bonn",
      stocked_quantity: 5,
      incoming_quantity: 3
    });
    assert.deepEqual([level.stocked_quantity, level.reserved_quantity, level.incoming_quantity], [5, 0, 3]);
    assert.deepEqual(level.raw_stocked_quantity, { value: "5", precision: 20 });
    assert.deepEqual(await shop.level(item, "bonn"), [5, 0, 5]);
  });

  it("are made without stock", async () => {
    const item = await shop.item();
    await inventory.createInventoryLevels([
      { inventory_item_id: item, location_id: "bonn" },
      { inventory_item_id: item, location_id: "kiel" }
    ]);
    assert.deepEqual(await shop.level(item, "kiel"), [0, 0, 0]);
  });

  it("ignore reserved_quantity, as Medusa does", async () => {
    const item = await shop.item();
    await inventory.createInventoryLevels({
      inventory_item_id: item,
      location_id: "bonn",
      stocked_quantity: 2,
      reserved_quantity: 99
    });
    assert.deepEqual(await shop.level(item, "bonn"), [2, 0, 2]);
  });

  it("are not made twice, and the stock stays as it is", async () => {
    const item = await shop.item({ bonn: 5 });
    await assert.rejects(
      inventory.createInventoryLevels({ inventory_item_id: item, location_id: "bonn", stocked_quantity: 9 }),
      /already exists/
    );
    assert.deepEqual(await shop.level(item, "bonn"), [5, 0, 5]);
  });

  it("have their quantities in Holdfast alone", async () => {
    const item = await shop.item({ bonn: 5 });
    const rows = await shop.sql(
      "select stocked_quantity, raw_stocked_quantity from inventory_level where inventory_item_id = ?",
      item
    );
    assert.equal(Number(rows[0].stocked_quantity), 0);
    await shop.holdfast.move({ kind: "receipt", lines: [{ sku: item, location: "bonn", qty: 7 }] });
    assert.deepEqual(await shop.level(item, "bonn"), [12, 0, 12]);
  });

  it("show people the item's title, and scanners its sku", async () => {
    const item = await inventory.createInventoryItems({ sku: "4006381333931", title: "Teekanne weiß" });
    await inventory.createInventoryLevels({ inventory_item_id: item.id, location_id: "bonn", stocked_quantity: 1 });
    const { name, barcodes } = await shop.holdfast.sku(item.id);
    assert.deepEqual({ name, barcodes }, { name: "Teekanne weiß", barcodes: ["4006381333931"] });
  });

  it("take a title that Holdfast cannot have", async () => {
    const item = await inventory.createInventoryItems({ sku: " tab\there ", title: "x".repeat(300) });
    await inventory.createInventoryLevels({ inventory_item_id: item.id, location_id: "bonn", stocked_quantity: 1 });
    assert.deepEqual(await shop.level(item.id, "bonn"), [1, 0, 1]);
  });

  it("are set to a number", async () => {
    const item = await shop.item({ bonn: 5 });
    const level = await inventory.updateInventoryLevels({
      inventory_item_id: item,
      location_id: "bonn",
      stocked_quantity: 8
    });
    assert.equal(level.stocked_quantity, 8);
    assert.deepEqual(await shop.level(item, "bonn"), [8, 0, 8]);
  });

  it("are set several at once, with what is owed", async () => {
    const item = await shop.item({ bonn: 5, kiel: 6 });
    const levels = await inventory.updateInventoryLevels([
      { inventory_item_id: item, location_id: "bonn", incoming_quantity: 4 },
      { inventory_item_id: item, location_id: "kiel", stocked_quantity: 0, metadata: { shelf: 3 } }
    ]);
    assert.deepEqual(
      levels.map(level => [level.stocked_quantity, level.incoming_quantity]),
      [
        [5, 4],
        [0, 0]
      ]
    );
    assert.deepEqual(levels[1].metadata, { shelf: 3 });
    const again = await inventory.updateInventoryLevels({
      inventory_item_id: item,
      location_id: "bonn",
      incoming_quantity: 1
    });
    assert.equal(again.incoming_quantity, 1);
  });

  it("set below what is reserved are over-reserved, as in Medusa", async () => {
    const item = await shop.item({ bonn: 5 });
    await shop.reserve(item, "bonn", 4);
    await inventory.updateInventoryLevels({ inventory_item_id: item, location_id: "bonn", stocked_quantity: 1 });
    assert.deepEqual(await shop.level(item, "bonn"), [1, 4, -3]);
    await assert.rejects(shop.reserve(item, "bonn", 1), /Not enough stock/);
    await inventory.updateInventoryLevels({ inventory_item_id: item, location_id: "bonn", stocked_quantity: 5 });
    assert.deepEqual(await shop.level(item, "bonn"), [5, 4, 1]);
  });

  it("that are not there are refused", async () => {
    const item = await shop.item({ bonn: 5 });
    await assert.rejects(
      inventory.updateInventoryLevels({ inventory_item_id: item, location_id: "rome", stocked_quantity: 1 }),
      { type: "not_found", message: `Item ${item} is not stocked at location rome` }
    );
    await assert.rejects(inventory.adjustInventory(item, "rome", 1), {
      type: "not_found",
      message: `Inventory level for item ${item} and location rome not found`
    });
  });

  it("are adjusted up and down", async () => {
    const item = await shop.item({ bonn: 5 });
    assert.equal((await inventory.adjustInventory(item, "bonn", 3)).stocked_quantity, 8);
    assert.equal((await inventory.adjustInventory(item, "bonn", -6)).stocked_quantity, 2);
    assert.equal((await inventory.adjustInventory(item, "bonn", 0)).stocked_quantity, 2);
  });

  it("are adjusted together, or none of them", async () => {
    const item = await shop.item({ bonn: 5, kiel: 1 });
    const of = (locationId, adjustment) => ({ inventoryItemId: item, locationId, adjustment });
    const levels = await inventory.adjustInventory([of("bonn", 1), of("kiel", 1), of("bonn", 2)]);
    assert.deepEqual(
      levels.map(level => level.stocked_quantity),
      [8, 2, 8]
    );
    await assert.rejects(inventory.adjustInventory([of("bonn", -1), of("kiel", -3)]), { type: "not_allowed" });
    assert.deepEqual(
      [await shop.level(item, "bonn"), await shop.level(item, "kiel")],
      [
        [8, 0, 8],
        [2, 0, 2]
      ]
    );
  });

  it("do not fall below 0", async () => {
    const item = await shop.item({ bonn: 2 });
    await assert.rejects(inventory.adjustInventory(item, "bonn", -5), {
      type: "not_allowed",
      message: /cannot fall below 0.*at location bonn/
    });
    await assert.rejects(
      inventory.updateInventoryLevels({ inventory_item_id: item, location_id: "bonn", stocked_quantity: -1 }),
      { type: "invalid_data", message: /below 0/ }
    );
  });

  it("refuse fractions with a reason, unless decimals are set", async () => {
    const item = await shop.item({ bonn: 2 });
    await assert.rejects(inventory.adjustInventory(item, "bonn", 0.5), {
      type: "invalid_data",
      message: /0.5 is no multiple of 1, .*decimals/
    });
    await assert.rejects(shop.reserve(item, "bonn", 1.5), { type: "invalid_data", message: /1.5 is no multiple/ });
    assert.deepEqual(await shop.level(item, "bonn"), [2, 0, 2]);
  });

  it("refuse what is more than a line of Holdfast may have", async () => {
    const item = await shop.item({ bonn: 1e12 });
    await assert.rejects(inventory.adjustInventory(item, "bonn", 2e12), {
      type: "invalid_data",
      message: /is more than 1000000000000/
    });
    assert.deepEqual(await shop.level(item, "bonn"), [1e12, 0, 1e12]);
  });

  it("tell sums over the locations of an item", async () => {
    const item = await shop.item({ bonn: 5, kiel: 6, rome: 7 });
    await shop.reserve(item, "kiel", 2);
    assert.equal(Number(await inventory.retrieveStockedQuantity(item, ["bonn", "kiel"])), 11);
    assert.equal(Number(await inventory.retrieveReservedQuantity(item, ["bonn", "kiel"])), 2);
    assert.equal(Number(await inventory.retrieveAvailableQuantity(item, ["bonn", "kiel", "nowhere"])), 9);
    assert.equal(Number(await inventory.retrieveAvailableQuantity(item, [])), 0);
    assert.equal(await inventory.confirmInventory(item, ["kiel"], 4), true);
    assert.equal(await inventory.confirmInventory(item, ["kiel"], 5), false);
    await assert.rejects(inventory.retrieveStockedQuantity("iitem_no", ["bonn"]), { type: "not_found" });
  });

  it("are read with their items, wherever they stand", async () => {
    const item = await shop.item({ bonn: 5, kiel: 6 });
    const reservation = await shop.reserve(item, "bonn", 2);
    const [found] = await inventory.listInventoryItems({ id: item }, { relations: ["location_levels"] });
    assert.deepEqual(found.location_levels.map(level => level.available_quantity).sort(), [3, 6]);
    const [bare] = await inventory.listInventoryItems(
      { id: item },
      { select: ["id", "stocked_quantity", "reserved_quantity"] }
    );
    assert.deepEqual(bare, { id: item, stocked_quantity: 11, reserved_quantity: 2 });
    const one = await inventory.retrieveReservationItem(reservation.id, {
      relations: ["inventory_item.location_levels"]
    });
    assert.deepEqual(one.inventory_item.location_levels.map(level => level.stocked_quantity).sort(), [5, 6]);
    const [rows, count] = await inventory.listAndCountInventoryLevels(
      { inventory_item_id: item },
      { select: ["id", "stocked_quantity"] }
    );
    assert.deepEqual([rows.map(row => row.stocked_quantity).sort(), count], [[5, 6], 2]);
  });

  it("are read by a query over modules", async () => {
    const item = await shop.item({ bonn: 5 });
    await shop.reserve(item, "bonn", 2);
    const { data } = await shop.query.graph({
      entity: "inventory_item",
      fields: [
        "id",
        "location_levels.location_id",
        "location_levels.available_quantity",
        "location_levels.stocked_quantity"
      ],
      filters: { id: item }
    });
    assert.deepEqual(
      data[0].location_levels.map(level => [level.location_id, level.stocked_quantity]),
      [["bonn", 5]]
    );
  });

  it("of many items are read with one call", async () => {
    const items = await inventory.createInventoryItems(Array.from({ length: 120 }, (_, i) => ({ sku: `many-${i}` })));
    const sent = [],
      { fetch } = globalThis;
    let most = 0,
      open = 0;
    globalThis.fetch = async (...args) => {
      most = Math.max(most, ++open);
      return await fetch(...args).finally(() => open--);
    };
    await inventory.createInventoryLevels(
      items.map((item, i) => ({ inventory_item_id: item.id, location_id: "bonn", stocked_quantity: i }))
    );
    assert.ok(most <= 16, `${most} calls at the same moment`);
    globalThis.fetch = (url, ...rest) => {
      sent.push(url);
      return fetch(url, ...rest);
    };
    const levels = await inventory.listInventoryLevels(
      { inventory_item_id: items.map(item => item.id) },
      { take: 200 }
    );
    globalThis.fetch = fetch;
    assert.equal(sent.length, 1);
    assert.equal(
      levels.reduce((sum, level) => sum + level.stocked_quantity, 0),
      (119 * 120) / 2
    );
  });

  it("that are deleted for good have no stock any more", async () => {
    const item = await shop.item({ bonn: 5, kiel: 6 });
    await inventory.deleteInventoryLevel(item, "bonn");
    assert.equal((await shop.holdfast.sku(item)).on_hand, 6);
    await inventory.deleteInventoryLevels((await inventory.listInventoryLevels({ inventory_item_id: item }))[0].id);
    assert.equal((await shop.holdfast.sku(item)).on_hand, 0);
    await inventory.deleteInventoryLevel(item, "bonn");
    await inventory.createInventoryLevels({ inventory_item_id: item, location_id: "bonn", stocked_quantity: 4 });
    assert.deepEqual(await shop.level(item, "bonn"), [4, 0, 4]);
  });

  it("that are deleted softly are not sold, and have their stock when they are restored", async () => {
    const item = await shop.item({ bonn: 5 });
    const [{ id }] = await inventory.listInventoryLevels({ inventory_item_id: item });
    await inventory.softDeleteInventoryLevels([id]);
    assert.deepEqual(await inventory.listInventoryLevels({ inventory_item_id: item }), []);
    await assert.rejects(shop.reserve(item, "bonn", 1), /not stocked at location bonn/);
    await inventory.restoreInventoryLevels([id]);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 0, 5]);
    await inventory.deleteInventoryItemLevelByLocationId("bonn");
    assert.equal(Number(await inventory.retrieveAvailableQuantity(item, ["bonn"])), 0);
  });

  it("tell subscribers of their changes", async () => {
    const item = await shop.item({ bonn: 5 });
    const [{ id }] = await inventory.listInventoryLevels({ inventory_item_id: item });
    shop.events.length = 0;
    await inventory.adjustInventory(item, "bonn", 1);
    await inventory.updateInventoryLevels({ inventory_item_id: item, location_id: "bonn", stocked_quantity: 9 });
    const told = shop.events
      .filter(event => event.name === "inventory.inventory-level.updated")
      .map(event => event.data.id);
    assert.deepEqual(told, [id, id]);
  });
});

describe("levels with decimals", () => {
  let shop;
  before(async () => {
    shop = await openShop({ options: { decimals: 3 } });
  });
  after(() => shop.close());

  it("are exact", async () => {
    const item = await shop.item({ bonn: 0.3 });
    await shop.reserve(item, "bonn", 0.1);
    await shop.inventory.adjustInventory(item, "bonn", "0.125");
    assert.deepEqual(await shop.level(item, "bonn"), [0.425, 0.1, 0.325]);
    await assert.rejects(shop.reserve(item, "bonn", 0.0001), { type: "invalid_data", message: /no multiple of 0.001/ });
    await assert.rejects(shop.reserve(item, "bonn", 0.326), /Not enough stock/);
  });

  it("do not change their decimals", async () => {
    const [loader] = require("..").default.loaders;
    const container = { resolve: () => shop.pg };
    await loader({ container, options: { decimals: 3 } });
    await assert.rejects(loader({ container, options: { decimals: 2 } }), /decimals: 2 is not 3/);
    await assert.rejects(loader({ container, options: {} }), /decimals: 0 is not 3/);
  });
});
