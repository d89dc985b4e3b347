// A process of Medusa that dies by SIGKILL at one step of one call. A step is a query to PostgreSQL or a request to
// Holdfast. Its parent says which call, which step, and whether it dies before the step or while its answer is on
// the way.
"use strict";
const { Client } = require("pg");
const { openShop } = require("./shop");

const die = () => process.kill(process.pid, "SIGKILL");
let left = Infinity,
  steps = 0,
  inFlight = false;

function step(send) {
  if (++steps < left) return send();
  if (!inFlight) die();
  const answer = send();
  setTimeout(die, 2);
  return answer;
}

const { fetch } = globalThis,
  { query } = Client.prototype;
globalThis.fetch = (...args) => step(() => fetch(...args));
Client.prototype.query = function (...args) {
  return step(() => query.apply(this, args));
};

openShop({ database: process.argv[2], options: { hold_ttl_s: 1 } }).then(({ inventory }) => {
  process.on("message", async ({ method, args, at, flying }) => {
    steps = 0;
    left = at ?? Infinity;
    inFlight = flying;
    await inventory[method](...args);
    process.send({ steps });
  });
  process.on("disconnect", () => process.exit(0));
  process.send("ready");
});
