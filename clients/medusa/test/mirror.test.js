"use strict";
const assert = require("node:assert/strict");
const { getEventListeners } = require("node:events");
const { after, before, describe, it } = require("node:test");
const { pause } = require("../dist/mirror");
const { openShop, until } = require("./shop");

describe("filters and sorts", () => {
  let shop, inventory, items;
  before(async () => {
    shop = await openShop();
    inventory = shop.inventory;
    items = [];
    for (const stock of [3, 30, 7]) items.push(await shop.item({ bonn: stock, kiel: 1 }));
  });
  after(() => shop.close());
  const bonn = { location_id: "bonn" };
  const levels = async (filter, order) =>
    (await inventory.listInventoryLevels({ inventory_item_id: items, ...filter }, { order })).map(
      level => level.stocked_quantity
    );

  it("of levels go by what is stocked", async () => {
    assert.deepEqual(await levels(bonn, { stocked_quantity: "DESC" }), [30, 7, 3]);
    assert.deepEqual(await levels({ ...bonn, stocked_quantity: { $gt: 5 } }, { stocked_quantity: "ASC" }), [7, 30]);
    assert.deepEqual(await levels({ stocked_quantity: 1 }), [1, 1, 1]);
  });

  it("see a change of this process at once", async () => {
    await shop.reserve(items[2], "bonn", 2);
    await inventory.adjustInventory(items[0], "bonn", 37);
    await inventory.updateInventoryLevels({ inventory_item_id: items[1], location_id: "bonn", incoming_quantity: 4 });
    assert.deepEqual(await levels(bonn, { stocked_quantity: "DESC" }), [40, 30, 7]);
    assert.deepEqual(await levels({ reserved_quantity: 2 }), [7]);
    assert.deepEqual(await levels({ incoming_quantity: { $gte: 4 } }), [30]);
  });

  it("of items go by their levels", async () => {
    const found = await inventory.listInventoryItems({
      id: items,
      location_levels: { stocked_quantity: { $lt: 10 }, location_id: "bonn" }
    });
    assert.deepEqual(
      found.map(item => item.id),
      [items[2]]
    );
    const sorted = await inventory.listInventoryItems(
      { id: items },
      { select: ["id", "stocked_quantity"], order: { stocked_quantity: "DESC" } }
    );
    assert.deepEqual(
      sorted.map(item => item.stocked_quantity),
      [41, 31, 8]
    );
  });

  it("see a change of another program within seconds", async () => {
    await shop.holdfast.move({ kind: "receipt", lines: [{ sku: items[2], location: "bonn", qty: 93 }] });
    await until(async () => assert.deepEqual(await levels({ stocked_quantity: { $gt: 50 } }), [100]));
  });

  it("begin again where events are missing", async () => {
    await shop.sql("update holdfast_state set value = '' where name = 'cursor'");
    await shop.sql("update inventory_level set stocked_quantity = 12345");
    assert.deepEqual(await levels({ stocked_quantity: { $gt: 50 } }), [100]);
  });

  it("are right in PostgreSQL itself while the mirror runs", async () => {
    const other = await openShop({ database: shop.database, options: { background: true } });
    try {
      await shop.holdfast.move({ kind: "adjustment", lines: [{ sku: items[2], location: "bonn", qty: -60 }] });
      await until(async () => {
        const [row] = await shop.sql(
          "select * from inventory_level where (inventory_item_id, location_id) = (?, 'bonn')",
          items[2]
        );
        assert.deepEqual(
          [Number(row.stocked_quantity), row.raw_stocked_quantity],
          [40, { value: "40", precision: 20 }]
        );
      });
      assert.deepEqual(other.warnings, []);
    } finally {
      await other.close();
    }
  });
});

describe("a pause of the mirror", () => {
  it("leaves no listener behind, and ends with the signal", async () => {
    const ender = new AbortController();
    for (let i = 0; i < 3; i++) await pause(ender.signal, 1);
    assert.equal(getEventListeners(ender.signal, "abort").length, 0);
    const pausing = pause(ender.signal, 60_000);
    ender.abort();
    await pausing;
    await pause(ender.signal, 60_000);
    assert.equal(getEventListeners(ender.signal, "abort").length, 0);
  });
});

describe("a shop that had Medusa's own module", () => {
  it("brings its stock and its reservation items along", async () => {
    const old = await openShop({ resolve: "@medusajs/inventory", options: { url: undefined } });
    const [a, b] = await old.inventory.createInventoryItems([{ sku: "a", title: "Cup" }, { sku: "b" }]);
    const of = (item, location_id, more) => ({ inventory_item_id: item.id, location_id, ...more });
    await old.inventory.createInventoryLevels([
      of(a, "bonn", { stocked_quantity: 5, incoming_quantity: 2 }),
      of(b, "kiel", { stocked_quantity: 3 })
    ]);
    const [first] = await old.inventory.createReservationItems([
      of(a, "bonn", { quantity: 2 }),
      of(b, "kiel", { quantity: 4, allow_backorder: true })
    ]);
    await old.close();

    const shop = await openShop({ database: old.database });
    try {
      assert.deepEqual(
        [await shop.level(a.id, "bonn"), await shop.level(b.id, "kiel")],
        [
          [5, 2, 3],
          [3, 4, -1]
        ]
      );
      assert.deepEqual(await shop.order(first.id), ["confirmed", { bonn: 2 }]);
      const names = async ({ id }) => (({ name, barcodes }) => ({ name, barcodes }))(await shop.holdfast.sku(id));
      assert.deepEqual(await names(a), { name: "Cup", barcodes: ["a"] });
      assert.deepEqual(await names(b), { name: "b", barcodes: ["b"] });
      assert.equal((await shop.inventory.retrieveInventoryLevelByItemAndLocation(a.id, "bonn")).incoming_quantity, 2);
      await shop.inventory.deleteReservationItems([first.id]);
      await shop.reserve(a.id, "bonn", 5);
    } finally {
      await shop.close();
    }
  });
});
