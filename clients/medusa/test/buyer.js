// A process of Medusa. Its parent says what to buy; all callers ask at the same moment.
"use strict";
const { openShop } = require("./shop");

openShop({
  database: process.argv[2],
  resolve: process.argv[3],
  options: process.argv[3] ? { url: undefined } : {}
}).then(shop => {
  process.on("message", async ({ item, callers }) => {
    const asked = Array.from({ length: callers }, async () => {
      const from = performance.now();
      await shop.reserve(item, "bonn", 1);
      return performance.now() - from;
    });
    const results = await Promise.allSettled(asked);
    process.send({
      made_ms: results.filter(result => result.status === "fulfilled").map(result => result.value),
      refused: results.filter(result => /Not enough stock/.test(result.reason?.message)).length,
      failed: results
        .filter(result => result.reason && !/Not enough stock/.test(result.reason.message))
        .map(result => String(result.reason))
    });
  });
  process.on("disconnect", () => process.exit(0));
  process.send("ready");
});
