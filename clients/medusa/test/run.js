// Runs the tests: one file after the other, on one PostgreSQL and one Holdfast. After each file the audit of
// Holdfast must pass.
//   node test/run.js [FILE..]
"use strict";
const { spawnSync } = require("node:child_process");
const { readdirSync } = require("node:fs");
const { join } = require("node:path");
const { missing, withServices } = require("./services");

async function main(given) {
  const lacks = missing();
  if (lacks) {
    console.log(`skipped: clients/medusa, as there is no ${lacks}`);
    return 0;
  }
  const files = given.length
    ? given
    : readdirSync(__dirname)
        .filter(name => name.endsWith(".test.js"))
        .map(name => join(__dirname, name));
  return await withServices(async ({ postgres, holdfast }) => {
    const env = { ...process.env, POSTGRES: postgres.url("DATABASE"), HOLDFAST: holdfast.url };
    let failed = 0;
    for (const file of files) {
      const { status } = spawnSync(process.execPath, ["--test", "--test-reporter=spec", file], {
        stdio: "inherit",
        env
      });
      if (status !== 0) failed = 1;
      holdfast.audit();
    }
    return failed;
  });
}

main(process.argv.slice(2)).then(status => process.exit(status));
