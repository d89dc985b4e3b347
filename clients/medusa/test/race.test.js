// ROUNDS=20 for more rounds.
"use strict";
const assert = require("node:assert/strict");
const { fork } = require("node:child_process");
const { once } = require("node:events");
const { join } = require("node:path");
const { after, before, describe, it } = require("node:test");
const { openShop } = require("./shop");

describe("two processes and 64 callers for 50 units", () => {
  let shop, buyers;
  before(async () => {
    shop = await openShop();
    buyers = [1, 2].map(() => fork(join(__dirname, "buyer.js"), [shop.database]));
    await Promise.all(buyers.map(buyer => once(buyer, "message")));
  });
  after(async () => {
    for (const buyer of buyers) buyer.disconnect();
    await shop.close();
  });

  for (let round = 1; round <= Number(process.env.ROUNDS ?? 3); round++)
    it(`make exactly 50 reservation items, round ${round}`, async () => {
      const item = await shop.item({ bonn: 50 });
      const answers = await Promise.all(
        buyers.map(async buyer => {
          buyer.send({ item, callers: 32 });
          return (await once(buyer, "message"))[0];
        })
      );
      const sum = of => answers.reduce((total, answer) => total + of(answer), 0);
      assert.deepEqual(
        answers.flatMap(answer => answer.failed),
        []
      );
      assert.deepEqual([sum(answer => answer.made_ms.length), sum(answer => answer.refused)], [50, 14]);
      assert.equal(
        (await shop.sql("select id from reservation_item where inventory_item_id = ? and deleted_at is null", item))
          .length,
        50
      );
      assert.deepEqual(await shop.level(item, "bonn"), [50, 50, 0]);
    });
});
