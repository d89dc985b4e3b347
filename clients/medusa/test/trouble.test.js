"use strict";
const assert = require("node:assert/strict");
const { after, afterEach, before, describe, it } = require("node:test");
const { openShop, until } = require("./shop");

describe("in trouble", () => {
  let shop, inventory;
  const { fetch } = globalThis;
  before(async () => {
    shop = await openShop({ options: { hold_ttl_s: 1 } });
    inventory = shop.inventory;
  });
  after(() => shop.close());
  afterEach(async () => {
    globalThis.fetch = fetch;
    await inventory.reconcile(0);
    assert.deepEqual(await shop.sql("select * from holdfast_unsettled"), []);
  });

  /** Calls to this path get an answer that tells nothing. The first `after` of them come through. */
  function breakCalls(path, after = 0) {
    globalThis.fetch = (url, ...rest) =>
      new URL(url).pathname.startsWith(path) && after-- <= 0
        ? Promise.resolve(new Response("?", { status: 500 }))
        : fetch(url, ...rest);
  }

  it("a row that PostgreSQL refuses leaves no units behind", async () => {
    const item = await shop.item({ bonn: 5 });
    await assert.rejects(shop.reserve(item, "bonn", 2, { description: "\0" }));
    assert.deepEqual(await shop.level(item, "bonn"), [5, 0, 5]);
    const row = await shop.reserve(item, "bonn", 2);
    await assert.rejects(inventory.updateReservationItems({ id: row.id, quantity: 4, description: "\0" }));
    assert.deepEqual(
      [await shop.order(row.id), await shop.level(item, "bonn")],
      [
        ["confirmed", { bonn: 2 }],
        [5, 2, 3]
      ]
    );
  });

  it("a transaction of the caller's that is rolled back leaves no units behind", async () => {
    const item = await shop.item({ bonn: 5, kiel: 5 });
    const kept = await shop.reserve(item, "kiel", 2);
    await assert.rejects(
      inventory.baseRepository_.transaction(async transactionManager => {
        await shop.inventory.createReservationItems(
          { inventory_item_id: item, location_id: "bonn", quantity: 3 },
          { transactionManager }
        );
        await shop.inventory.updateReservationItems({ id: kept.id, quantity: 4 }, { transactionManager });
        throw new Error("no");
      }),
      /no/
    );
    await until(async () => {
      assert.deepEqual(await shop.level(item, "bonn"), [5, 0, 5]);
      assert.deepEqual(await shop.level(item, "kiel"), [5, 2, 3]);
    });
  });

  it("a transaction of the caller's is followed once it is committed", async () => {
    const item = await shop.item({ bonn: 5, kiel: 5 });
    const gone = await shop.reserve(item, "kiel", 2);
    const row = await inventory.baseRepository_.transaction(async transactionManager => {
      await inventory.deleteReservationItems([gone.id], { transactionManager });
      assert.deepEqual((await shop.order(gone.id))[0], "confirmed");
      return await inventory.createReservationItems(
        { inventory_item_id: item, location_id: "bonn", quantity: 3 },
        { transactionManager }
      );
    });
    await until(async () => {
      assert.deepEqual(await shop.order(row.id), ["confirmed", { bonn: 3 }]);
      assert.deepEqual(await shop.level(item, "kiel"), [5, 0, 5]);
    });
  });

  it("a transaction of the caller's that is rolled back while Holdfast is away leaves a note", async () => {
    const item = await shop.item({ bonn: 5 });
    const { id } = await shop.reserve(item, "bonn", 2);
    await assert.rejects(
      inventory.baseRepository_.transaction(async transactionManager => {
        await inventory.updateReservationItems({ id, quantity: 5 }, { transactionManager });
        breakCalls("/");
        throw new Error("no");
      }),
      /no/
    );
    await until(async () => assert.match(shop.warnings.pop() ?? "", /settles later what this call has left/));
    globalThis.fetch = fetch;
    assert.deepEqual(await shop.order(id), ["confirmed", { bonn: 5 }]);
    await inventory.reconcile(0);
    assert.deepEqual(await shop.order(id), ["confirmed", { bonn: 2 }]);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 2, 3]);
  });

  it("a transaction of the caller's that does not see notes of others changes nothing", async () => {
    const item = await shop.item({ bonn: 5 });
    const { id } = await shop.reserve(item, "bonn", 2);
    await assert.rejects(
      inventory.baseRepository_.transaction(
        async transactionManager => {
          await inventory.listReservationItems({ id }, {}, { transactionManager });
          await inventory.updateReservationItems({ id, quantity: 5 }, { transactionManager });
        },
        { isolationLevel: "repeatable read" }
      ),
      { type: "invalid_data", message: /READ COMMITTED/ }
    );
    assert.deepEqual(await shop.level(item, "bonn"), [5, 2, 3]);
  });

  it("16 transactions of callers on 4 connections do not wait for each other", async () => {
    const item = await shop.item({ bonn: 100 });
    const rows = await shop.inventory.createReservationItems(
      Array.from({ length: 16 }, () => ({ inventory_item_id: item, location_id: "bonn", quantity: 1 }))
    );
    const small = await openShop({ database: shop.database, pool: { max: 4, acquireTimeoutMillis: 20_000 } });
    try {
      const update = (id, quantity, context) => small.inventory.updateReservationItems({ id, quantity }, context);
      await Promise.all(rows.map(({ id }) => update(id, 2)));
      assert.deepEqual(await small.level(item, "bonn"), [100, 32, 68]);
      await Promise.all(
        rows.map(({ id }) =>
          small.inventory.baseRepository_.transaction(async transactionManager => {
            await small.inventory.retrieveReservationItem(id, {}, { transactionManager });
            await update(id, 5, { transactionManager });
          })
        )
      );
      assert.deepEqual(await small.level(item, "bonn"), [100, 80, 20]);
      await until(async () => assert.deepEqual(await shop.sql("select * from holdfast_unsettled"), []));
    } finally {
      await small.close();
    }
  });

  it("an order that could not be confirmed is confirmed by the reconciler", async () => {
    const item = await shop.item({ bonn: 5 });
    breakCalls("/v1/confirmations");
    const { id } = await shop.reserve(item, "bonn", 2);
    globalThis.fetch = fetch;
    assert.equal((await shop.order(id))[0], "held");
    assert.equal(await inventory.reconcile(), 0, "young notes are left alone");
    assert.ok((await inventory.reconcile(0)) >= 1);
    assert.deepEqual(
      [await shop.order(id), await shop.level(item, "bonn")],
      [
        ["confirmed", { bonn: 2 }],
        [5, 2, 3]
      ]
    );
  });

  it("an order that expired meanwhile gets its units again", async () => {
    const item = await shop.item({ bonn: 5 });
    breakCalls("/v1/confirmations");
    const { id } = await shop.reserve(item, "bonn", 2);
    await sleep(1200);
    globalThis.fetch = fetch;
    await inventory.reconcile(0);
    assert.deepEqual(
      [await shop.order(id), await shop.level(item, "bonn")],
      [
        ["confirmed", { bonn: 2 }],
        [5, 2, 3]
      ]
    );
  });

  it("an order whose units went to another one waits for others", async () => {
    const item = await shop.item({ bonn: 2 });
    breakCalls("/v1/confirmations");
    const { id } = await shop.reserve(item, "bonn", 2);
    await sleep(1200);
    globalThis.fetch = fetch;
    await shop.reserve(item, "bonn", 1);
    await inventory.reconcile(0);
    assert.deepEqual(
      [await shop.order(`${id}.1`), await shop.level(item, "bonn")],
      [
        ["confirmed", { bonn: 1, "bonn~": 1 }],
        [2, 3, -1]
      ]
    );
    await inventory.updateReservationItems({ id, quantity: 1 });
    assert.deepEqual(await shop.level(item, "bonn"), [2, 2, 0]);
  });

  it("a commit that takes longer than the hold is refused if the units are gone, and leaves no row", async () => {
    const item = await shop.item({ bonn: 2 });
    const reserving = inventory.baseRepository_.transaction(async lock => {
      await lock.execute("lock table reservation_item in share mode");
      const reserving = shop.reserve(item, "bonn", 2);
      reserving.catch(() => undefined);
      await sleep(1300);
      await shop.holdfast.reserve({
        order_id: `other-${item}`,
        confirm: true,
        lines: [{ sku: item, location: "bonn", qty: 2 }]
      });
      return { reserving };
    });
    await assert.rejects((await reserving).reserving, /Not enough stock available/);
    assert.deepEqual(await inventory.listReservationItems({ inventory_item_id: item }), []);
    assert.deepEqual(await shop.level(item, "bonn"), [2, 2, 0]);
  });

  it("a row that makes no sense keeps no other from being settled", async () => {
    const item = await shop.item({ bonn: 5 });
    breakCalls("/v1/confirmations");
    const [odd, even] = [await shop.reserve(item, "bonn", 1), await shop.reserve(item, "bonn", 2)];
    globalThis.fetch = fetch;
    await shop.sql(`update reservation_item set raw_quantity = '{"value": "0.5"}' where id = ?`, odd.id);
    await inventory.reconcile(0);
    assert.equal((await shop.order(even.id))[0], "confirmed");
    assert.match(shop.warnings.pop(), new RegExp(`${odd.id} cannot be settled: .*decimals`));
    await inventory.deleteReservationItems(odd.id);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 2, 3]);
  });

  it("250 rows that make no sense keep no other from being settled, and are looked at once", async () => {
    const item = await shop.item({ bonn: 5 });
    await shop.sql(
      `insert into reservation_item (id, inventory_item_id, location_id, quantity, raw_quantity)
      select 'resitem_odd' || i, ?, 'bonn', 0.5, '{"value": "0.5"}' from generate_series(1, 250) i`,
      item
    );
    await shop.sql(
      `insert into holdfast_unsettled (reservation_id, order_id)
      select 'resitem_odd' || i, 'resitem_odd' || i from generate_series(1, 250) i`
    );
    breakCalls("/v1/confirmations");
    const { id } = await shop.reserve(item, "bonn", 2);
    globalThis.fetch = fetch;
    shop.warnings.length = 0;
    assert.equal(await inventory.reconcile(0), 1);
    assert.deepEqual(await shop.order(id), ["confirmed", { bonn: 2 }]);
    assert.equal(shop.warnings.filter(text => /resitem_odd\d+ cannot be settled/.test(text)).length, 250);
    await shop.sql("delete from reservation_item where id like 'resitem_odd%'");
  });

  it("a Holdfast that is away fails calls after deadline_s", async () => {
    const item = await shop.item({ bonn: 5 });
    const hasty = await openShop({ database: shop.database, options: { deadline_s: 0.5 } });
    try {
      globalThis.fetch = () => new Promise((_, reject) => setTimeout(() => reject(new TypeError("away")), 100));
      const from = performance.now();
      await assert.rejects(hasty.reserve(item, "bonn", 1), { type: "unexpected_state", message: /no_answer/ });
      assert.ok(performance.now() - from < 15_000);
    } finally {
      globalThis.fetch = fetch;
      await hasty.close();
    }
  });

  it("orders for which Holdfast has no time now are sent again", async () => {
    const item = await shop.item({ bonn: 5 });
    let busy = 3;
    globalThis.fetch = async (url, ...rest) => {
      const path = new URL(url).pathname;
      if (!["/v1/confirmations", "/v1/releases"].includes(path) || busy-- <= 0) return await fetch(url, ...rest);
      const results = JSON.parse(rest[0].body).order_ids.map(order_id => ({ order_id, status: 503, code: "busy" }));
      return Response.json({ results });
    };
    const { id } = await shop.reserve(item, "bonn", 2);
    assert.equal((await shop.order(id))[0], "confirmed");
    busy = 2;
    await inventory.deleteReservationItems(id);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 0, 5]);
  });

  it("an order that was not released is released by the reconciler", async () => {
    const item = await shop.item({ bonn: 5 });
    const soft = await shop.reserve(item, "bonn", 1),
      hard = await shop.reserve(item, "bonn", 2);
    breakCalls("/v1/releases");
    await inventory.softDeleteReservationItems([soft.id]);
    await inventory.deleteReservationItems([hard.id]);
    globalThis.fetch = fetch;
    assert.deepEqual(await shop.level(item, "bonn"), [5, 3, 2]);
    assert.ok((await inventory.reconcile(0)) >= 2);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 0, 5]);
    await inventory.restoreReservationItems([soft.id]);
    assert.deepEqual(await shop.level(item, "bonn"), [5, 1, 4]);
  });

  it("an order with too many units gives them back by the reconciler", async () => {
    const item = await shop.item({ bonn: 5, kiel: 5 });
    const { id } = await shop.reserve(item, "bonn", 4);
    breakCalls("/v1/reservations/resitem", 1);
    await inventory.updateReservationItems({ id, quantity: 3, location_id: "kiel" });
    globalThis.fetch = fetch;
    assert.deepEqual(await shop.order(id), ["confirmed", { bonn: 4, kiel: 3 }]);
    await inventory.reconcile(0);
    assert.deepEqual(await shop.order(id), ["confirmed", { kiel: 3 }]);
  });

  it("a change that gets no answer leaves the order as the row says", async () => {
    const item = await shop.item({ bonn: 5 });
    const { id } = await shop.reserve(item, "bonn", 2);
    breakCalls("/v1/reservations/resitem");
    await assert.rejects(inventory.updateReservationItems({ id, quantity: 4 }), { type: "unexpected_state" });
    globalThis.fetch = fetch;
    await inventory.reconcile(0);
    assert.deepEqual(
      [await shop.order(id), await shop.level(item, "bonn")],
      [
        ["confirmed", { bonn: 2 }],
        [5, 2, 3]
      ]
    );
  });

  it("an order that a person has released is taken anew", async () => {
    const item = await shop.item({ bonn: 5 });
    const { id } = await shop.reserve(item, "bonn", 2);
    await shop.holdfast.release(id);
    await assert.rejects(inventory.updateReservationItems({ id, quantity: 4 }), {
      type: "unexpected_state",
      message: /is released in Holdfast/
    });
    assert.deepEqual(await shop.order(`${id}.1`), ["confirmed", { bonn: 2 }]);
    await inventory.updateReservationItems({ id, quantity: 4 });
    assert.deepEqual(await shop.level(item, "bonn"), [5, 4, 1]);
    assert.match(shop.warnings.pop(), /has no units any more/);
  });

  it("many callers change one reservation item, and its order agrees with its row", async () => {
    const item = await shop.item({ bonn: 20, kiel: 20 });
    const { id } = await shop.reserve(item, "bonn", 1);
    await Promise.allSettled(
      Array.from({ length: 24 }, (_, i) =>
        inventory.updateReservationItems({ id, quantity: 1 + (i % 9), location_id: i % 2 ? "bonn" : "kiel" })
      )
    );
    await inventory.reconcile(0);
    const { quantity, location_id } = await inventory.retrieveReservationItem(id);
    assert.deepEqual(await shop.order(id), ["confirmed", { [location_id]: quantity }]);
  });
});

function sleep(ms) {
  return new Promise(resolve => setTimeout(resolve, ms));
}
