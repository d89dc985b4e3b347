// Kills a process of Medusa at every step of every call that changes reservation items. Then the reconciler runs,
// and every unit must be where the rows say: none lost, none twice.   node test/run.js test/crash.drill.js
"use strict";
const assert = require("node:assert/strict");
const { fork } = require("node:child_process");
const { once } = require("node:events");
const { join } = require("node:path");
const { after, before, describe, it } = require("node:test");
const { openShop, until } = require("./shop");

const READY = 3;
/** Each call, and the reservation items that are there before it. */
const CALLS = {
  "create one": { method: "createReservationItems", args: item => [at(item, "bonn", 4)] },
  "create three": {
    method: "createReservationItems",
    args: item => [[at(item, "bonn", 4), at(item, "kiel", 2), at(item, "bonn", 1)]]
  },
  "create a backorder": {
    method: "createReservationItems",
    args: item => [{ ...at(item, "bonn", 25), allow_backorder: true }]
  },
  grow: { method: "updateReservationItems", has: [["bonn", 3]], args: (_, [a]) => [{ id: a, quantity: 8 }] },
  shrink: { method: "updateReservationItems", has: [["bonn", 8]], args: (_, [a]) => [{ id: a, quantity: 3 }] },
  move: {
    method: "updateReservationItems",
    has: [["bonn", 8]],
    args: (_, [a]) => [{ id: a, location_id: "kiel", quantity: 6 }]
  },
  "change two": {
    method: "updateReservationItems",
    has: [
      ["bonn", 3],
      ["kiel", 5]
    ],
    args: (_, [a, b]) => [
      [
        { id: a, quantity: 8 },
        { id: b, quantity: 2 }
      ]
    ]
  },
  delete: {
    method: "deleteReservationItems",
    has: [
      ["bonn", 3],
      ["kiel", 5]
    ],
    args: (_, ids) => [ids]
  },
  "delete softly": { method: "softDeleteReservationItems", has: [["bonn", 3]], args: (_, ids) => [ids] },
  restore: { method: "restoreReservationItems", has: [["bonn", 3]], deleted: true, args: (_, ids) => [ids] }
};

function at(inventory_item_id, location_id, quantity) {
  return { inventory_item_id, location_id, quantity };
}

describe("a crash at every step", () => {
  let shop,
    ready,
    crashes = 0;
  const items = [];
  before(async () => {
    shop = await openShop({ options: { hold_ttl_s: 1 } });
    ready = Array.from({ length: READY }, victim);
  });
  after(async () => {
    for (const one of ready) (await one).disconnect();
    await shop.close();
  });

  async function victim() {
    const child = fork(join(__dirname, "victim.js"), [shop.database]);
    await once(child, "message");
    return child;
  }

  async function prepare({ method, has = [], deleted, args }) {
    const item = await shop.item({ bonn: 20, kiel: 20 });
    const ids = [];
    for (const [location, quantity] of has) ids.push((await shop.reserve(item, location, quantity)).id);
    if (deleted) await shop.inventory.softDeleteReservationItems(ids);
    return { item, order: { method, args: args(item, ids) } };
  }

  for (const [name, call] of Object.entries(CALLS))
    it(`of ${name}`, async () => {
      const whole = await prepare(call),
        counter = await victim();
      counter.send(whole.order);
      const [{ steps }] = await once(counter, "message");
      counter.disconnect();
      items.push(whole.item);
      for (let step = 1; step <= steps; step++)
        for (const flying of [false, true]) {
          const { item, order } = await prepare(call);
          const child = await ready.shift();
          ready.push(victim());
          child.send({ ...order, at: step, flying });
          const [code, signal] = await once(child, "exit");
          assert.deepEqual([code, signal], [null, "SIGKILL"]);
          items.push(item);
          crashes++;
        }
    });

  it("leaves no unit lost and none twice", async () => {
    await new Promise(resolve => setTimeout(resolve, 1500));
    await until(async () => {
      await shop.inventory.reconcile(0);
      assert.deepEqual(await shop.sql("select * from holdfast_unsettled"), []);
    });
    for (const item of items) {
      const rows = await shop.sql(
        `select r.id || coalesce('.' || number, '') as order, location_id, quantity from reservation_item r
        left join holdfast_order h on h.reservation_id = r.id where inventory_item_id = ? and deleted_at is null`,
        item
      );
      for (const location of ["bonn", "kiel"]) {
        const reserved = rows
          .filter(row => row.location_id === location)
          .reduce((sum, row) => sum + Number(row.quantity), 0);
        assert.deepEqual(await shop.level(item, location), [20, reserved, 20 - reserved], `${item} at ${location}`);
      }
      for (const row of rows) {
        const [state, lines] = await shop.order(row.order);
        assert.deepEqual(
          [state, Object.values(lines).reduce((sum, n) => sum + n, 0)],
          ["confirmed", Number(row.quantity)]
        );
      }
    }
    console.log(`${crashes} crashes`);
  });
});
