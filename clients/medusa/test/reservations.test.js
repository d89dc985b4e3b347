"use strict";
const assert = require("node:assert/strict");
const { after, before, describe, it } = require("node:test");
const { openShop, until } = require("./shop");

describe("reservation items", () => {
  let shop, inventory;
  before(async () => {
    shop = await openShop();
    inventory = shop.inventory;
  });
  after(() => shop.close());

  const notEnough = (item, location) => ({
    type: "not_allowed",
    message: `Not enough stock available for item ${item} at location ${location}`
  });

  it("are confirmed orders of their id", async () => {
    const item = await shop.item({ bonn: 5 });
    const row = await shop.reserve(item, "bonn", 2, { line_item_id: "li_1", description: "gift" });
    assert.deepEqual([row.quantity, row.line_item_id, row.description, row.location_id], [2, "li_1", "gift", "bonn"]);
    assert.deepEqual(await shop.order(row.id), ["confirmed", { bonn: 2 }]);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 2, 3]);
  });

  it("are passed over by workers of Holdfast", async () => {
    const item = await shop.item({ bonn: 5 });
    await shop.reserve(item, "bonn", 2);
    const task = await shop.holdfast.claim({ kind: "settle", worker: "w1" });
    assert.equal(task, undefined);
  });

  it("are refused where there is too little", async () => {
    const item = await shop.item({ bonn: 5 });
    await assert.rejects(shop.reserve(item, "bonn", 6), notEnough(item, "bonn"));
    assert.deepEqual(await inventory.listReservationItems({ inventory_item_id: item }), []);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 0, 5]);
  });

  it("are refused where the item is not stocked", async () => {
    const item = await shop.item({ bonn: 5 });
    await assert.rejects(shop.reserve(item, "rome", 1), {
      type: "not_found",
      message: `Item ${item} is not stocked at location rome`
    });
    await assert.rejects(shop.reserve("iitem_no", "bonn", 1), { type: "not_found" });
  });

  it("of 0 or less are refused with a reason", async () => {
    const item = await shop.item({ bonn: 5 });
    await assert.rejects(shop.reserve(item, "bonn", 0), { type: "invalid_data", message: /not above 0/ });
    await assert.rejects(shop.reserve(item, "bonn", -1), { type: "invalid_data", message: /not above 0/ });
  });

  it("are made together, or none of them", async () => {
    const a = await shop.item({ bonn: 5 }),
      b = await shop.item({ bonn: 1 });
    const of = (inventory_item_id, quantity) => ({ inventory_item_id, location_id: "bonn", quantity });
    await assert.rejects(inventory.createReservationItems([of(a, 2), of(b, 2), of(a, 1)]), notEnough(b, "bonn"));
    assert.deepEqual(
      [await shop.level(a, "bonn"), await shop.level(b, "bonn")],
      [
        [5, 0, 5],
        [1, 0, 1]
      ]
    );
    const rows = await inventory.createReservationItems([of(a, 2), of(b, 1), of(a, 3)]);
    assert.deepEqual(
      rows.map(row => row.quantity),
      [2, 1, 3]
    );
    assert.deepEqual(
      [await shop.level(a, "bonn"), await shop.level(b, "bonn")],
      [
        [5, 5, 0],
        [1, 1, 0]
      ]
    );
  });

  it("are made 250 at once", async () => {
    const item = await shop.item({ bonn: 250 });
    const one = { inventory_item_id: item, location_id: "bonn", quantity: 1 };
    await assert.rejects(inventory.createReservationItems(Array(251).fill(one)), notEnough(item, "bonn"));
    assert.deepEqual(await shop.level(item, "bonn"), [250, 0, 250]);
    await inventory.createReservationItems(Array(250).fill(one));
    assert.deepEqual(await shop.level(item, "bonn"), [250, 250, 0]);
  });

  it("wait as backorders, and get what comes in", async () => {
    const item = await shop.item({ bonn: 2 });
    const row = await shop.reserve(item, "bonn", 5, { allow_backorder: true });
    assert.deepEqual(await shop.order(row.id), ["confirmed", { bonn: 2, "bonn~": 3 }]);
    assert.deepEqual(await shop.level(item, "bonn"), [2, 5, -3]);
    await assert.rejects(shop.reserve(item, "bonn", 1), notEnough(item, "bonn"));
    await inventory.adjustInventory(item, "bonn", 4);
    assert.deepEqual(await shop.level(item, "bonn"), [6, 5, 1]);
    await until(async () => assert.deepEqual(await shop.order(row.id), ["confirmed", { bonn: 5 }]));
    await shop.reserve(item, "bonn", 1);
    await assert.rejects(shop.reserve(item, "bonn", 1), notEnough(item, "bonn"));
  });

  it("grow and shrink under their id", async () => {
    const item = await shop.item({ bonn: 5 });
    const { id } = await shop.reserve(item, "bonn", 2);
    assert.equal(
      (await inventory.updateReservationItems({ id, quantity: 5, description: "more" })).description,
      "more"
    );
    assert.deepEqual(
      [await shop.order(id), await shop.level(item, "bonn")],
      [
        ["confirmed", { bonn: 5 }],
        [5, 5, 0]
      ]
    );
    await inventory.updateReservationItems({ id, quantity: 1 });
    assert.deepEqual(
      [await shop.order(id), await shop.level(item, "bonn")],
      [
        ["confirmed", { bonn: 1 }],
        [5, 1, 4]
      ]
    );
    await assert.rejects(inventory.updateReservationItems({ id, quantity: 6 }), notEnough(item, "bonn"));
    assert.deepEqual(
      [await shop.order(id), await shop.level(item, "bonn")],
      [
        ["confirmed", { bonn: 1 }],
        [5, 1, 4]
      ]
    );
    assert.equal((await inventory.retrieveReservationItem(id)).quantity, 1);
  });

  it("move to another location, if there is enough", async () => {
    const item = await shop.item({ bonn: 5, kiel: 3 });
    const { id } = await shop.reserve(item, "bonn", 4);
    await assert.rejects(inventory.updateReservationItems({ id, location_id: "kiel" }), notEnough(item, "kiel"));
    assert.deepEqual(
      [await shop.level(item, "bonn"), await shop.level(item, "kiel")],
      [
        [5, 4, 1],
        [3, 0, 3]
      ]
    );
    await inventory.updateReservationItems({ id, location_id: "kiel", quantity: 3 });
    assert.deepEqual(
      [await shop.level(item, "bonn"), await shop.level(item, "kiel")],
      [
        [5, 0, 5],
        [3, 3, 0]
      ]
    );
    await assert.rejects(inventory.updateReservationItems({ id, location_id: "rome" }), { type: "not_found" });
  });

  it("are changed together, or none of them", async () => {
    const item = await shop.item({ bonn: 10, kiel: 1 });
    const [a, b] = await inventory.createReservationItems([
      { inventory_item_id: item, location_id: "bonn", quantity: 3 },
      { inventory_item_id: item, location_id: "kiel", quantity: 1 }
    ]);
    await assert.rejects(
      inventory.updateReservationItems([
        { id: a.id, quantity: 7 },
        { id: b.id, quantity: 2 }
      ]),
      notEnough(item, "kiel")
    );
    assert.deepEqual(
      [await shop.level(item, "bonn"), await shop.level(item, "kiel")],
      [
        [10, 3, 7],
        [1, 1, 0]
      ]
    );
    await inventory.updateReservationItems([
      { id: a.id, quantity: 7 },
      { id: b.id, location_id: "bonn" }
    ]);
    assert.deepEqual(
      [await shop.level(item, "bonn"), await shop.level(item, "kiel")],
      [
        [10, 8, 2],
        [1, 0, 1]
      ]
    );
  });

  it("grow beyond the stock where they may wait", async () => {
    const item = await shop.item({ bonn: 2 });
    const { id } = await shop.reserve(item, "bonn", 1, { allow_backorder: true });
    await inventory.updateReservationItems({ id, quantity: 4 });
    assert.deepEqual(
      [await shop.order(id), await shop.level(item, "bonn")],
      [
        ["confirmed", { bonn: 2, "bonn~": 2 }],
        [2, 4, -2]
      ]
    );
    await inventory.updateReservationItems({ id, quantity: 3 });
    assert.deepEqual(await shop.level(item, "bonn"), [2, 3, -1]);
  });

  it("that lost units shrink, and do not grow at the cost of others", async () => {
    const item = await shop.item({ bonn: 5 });
    const { id } = await shop.reserve(item, "bonn", 5);
    await inventory.updateInventoryLevels({ inventory_item_id: item, location_id: "bonn", stocked_quantity: 2 });
    await assert.rejects(inventory.updateReservationItems({ id, quantity: 6 }), notEnough(item, "bonn"));
    await inventory.updateReservationItems({ id, quantity: 4 });
    assert.deepEqual(await shop.level(item, "bonn"), [2, 4, -2]);
  });

  it("change their description alone without a call to Holdfast", async () => {
    const item = await shop.item({ bonn: 5 });
    const { id } = await shop.reserve(item, "bonn", 2);
    const { version } = await shop.holdfast.reservation(id);
    assert.equal(
      (await inventory.updateReservationItems({ id, description: "gift", metadata: { a: 1 } })).description,
      "gift"
    );
    assert.equal((await shop.holdfast.reservation(id)).version, version);
    await assert.rejects(inventory.updateReservationItems({ id: "resitem_no", quantity: 1 }), {
      type: "invalid_data",
      message: "Reservation item with id resitem_no not found"
    });
  });

  it("give their units back when they are deleted", async () => {
    const item = await shop.item({ bonn: 5 });
    const rows = [
      await shop.reserve(item, "bonn", 1),
      await shop.reserve(item, "bonn", 2),
      await shop.reserve(item, "bonn", 2)
    ];
    await inventory.deleteReservationItems(rows[0].id);
    await inventory.deleteReservationItems([rows[1].id, rows[2].id]);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 0, 5]);
    assert.deepEqual((await shop.order(rows[1].id))[0], "released");
    await inventory.deleteReservationItems(rows[1].id);
  });

  it("are deleted by line item and by location, and restored", async () => {
    const item = await shop.item({ bonn: 5, kiel: 5 });
    const line = `li_${item}`;
    await shop.reserve(item, "bonn", 1, { line_item_id: line });
    await shop.reserve(item, "kiel", 2, { line_item_id: line });
    await shop.reserve(item, "kiel", 3);
    await inventory.deleteReservationItemsByLineItem([line]);
    assert.deepEqual(
      [await shop.level(item, "bonn"), await shop.level(item, "kiel")],
      [
        [5, 0, 5],
        [5, 3, 2]
      ]
    );
    await inventory.restoreReservationItemsByLineItem([line]);
    assert.deepEqual(
      [await shop.level(item, "bonn"), await shop.level(item, "kiel")],
      [
        [5, 1, 4],
        [5, 5, 0]
      ]
    );
    await inventory.deleteReservationItemByLocationId("kiel");
    assert.deepEqual(
      [await shop.level(item, "bonn"), await shop.level(item, "kiel")],
      [
        [5, 1, 4],
        [5, 0, 5]
      ]
    );
  });

  it("that are restored after others took the units wait for them", async () => {
    const item = await shop.item({ bonn: 3 });
    const { id } = await shop.reserve(item, "bonn", 3);
    await inventory.softDeleteReservationItems([id]);
    await shop.reserve(item, "bonn", 2);
    await inventory.restoreReservationItems([id]);
    assert.deepEqual(await shop.level(item, "bonn"), [3, 5, -2]);
    assert.deepEqual(await shop.order(`${id}.1`), ["confirmed", { bonn: 1, "bonn~": 2 }]);
  });

  it("are deleted and restored again and again, and changed in between", async () => {
    const item = await shop.item({ bonn: 9 });
    const { id } = await shop.reserve(item, "bonn", 3);
    for (let i = 1; i <= 3; i++) {
      await inventory.softDeleteReservationItems([id]);
      await inventory.softDeleteReservationItems([id]);
      assert.deepEqual(await shop.level(item, "bonn"), [9, 0, 9]);
      await inventory.restoreReservationItems([id]);
      await inventory.restoreReservationItems([id]);
      await inventory.updateReservationItems({ id, quantity: 3 + i });
      assert.deepEqual(
        [await shop.order(`${id}.${i}`), await shop.level(item, "bonn")],
        [
          ["confirmed", { bonn: 3 + i }],
          [9, 3 + i, 6 - i]
        ]
      );
    }
    await inventory.deleteReservationItems([id]);
    assert.deepEqual(await shop.level(item, "bonn"), [9, 0, 9]);
  });

  it("go and come back with their item", async () => {
    const item = await shop.item({ bonn: 5 });
    await shop.reserve(item, "bonn", 2);
    await inventory.softDeleteInventoryItems([item]);
    assert.equal((await shop.holdfast.sku(item)).reserved, 0);
    await inventory.restoreInventoryItems([item]);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 2, 3]);
    await inventory.deleteInventoryItems(item);
    const { available, reserved, on_hand } = await shop.holdfast.sku(item);
    assert.deepEqual({ available, reserved, on_hand }, { available: 0, reserved: 0, on_hand: 0 });
  });

  it("outlive their level, and can be deleted then", async () => {
    const item = await shop.item({ bonn: 5 });
    const { id } = await shop.reserve(item, "bonn", 2);
    await inventory.deleteInventoryLevel(item, "bonn");
    assert.deepEqual(await shop.order(id), ["confirmed", { "bonn~": 2 }]);
    await inventory.deleteReservationItems(id);
    assert.equal((await shop.holdfast.sku(item)).reserved, 0);
  });

  it("are fulfilled as Medusa's workflow does it, with everything promised", async () => {
    const item = await shop.item({ bonn: 4 });
    const a = await shop.reserve(item, "bonn", 2);
    const b = await shop.reserve(item, "bonn", 2);
    await inventory.adjustInventory([{ inventoryItemId: item, locationId: "bonn", adjustment: -2 }]);
    await inventory.deleteReservationItems([a.id]);
    assert.deepEqual(await shop.level(item, "bonn"), [2, 2, 0]);
    await until(async () => assert.deepEqual(await shop.order(b.id), ["confirmed", { bonn: 2 }]));
  });

  it("tell subscribers of themselves and of their levels", async () => {
    const item = await shop.item({ bonn: 5 });
    const [level] = await inventory.listInventoryLevels({ inventory_item_id: item });
    shop.events.length = 0;
    const { id } = await shop.reserve(item, "bonn", 2);
    await inventory.updateReservationItems({ id, quantity: 3 });
    await inventory.deleteReservationItems([id]);
    const told = shop.events.map(
      ({ name, data }) =>
        `${name.replace("inventory.", "")} ${data.id === id ? "item" : data.id === level.id ? "level" : "?"}`
    );
    assert.deepEqual(told.sort(), [
      "inventory-level.updated level",
      "inventory-level.updated level",
      "inventory-level.updated level",
      "reservation-item.created item",
      "reservation-item.deleted item",
      "reservation-item.updated item"
    ]);
  });
});
