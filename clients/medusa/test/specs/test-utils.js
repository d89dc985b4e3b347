// Medusa's own test-utils, told to load this module. Its specs have fractions of up to two decimals.
"use strict";
const { join, resolve } = require("node:path");
const home = resolve(__dirname, "../..");
const original = require(join(home, "node_modules/@medusajs/test-utils"));

module.exports = {
  ...original,
  moduleIntegrationTestRunner: suite =>
    original.moduleIntegrationTestRunner({
      ...suite,
      resolve: home,
      moduleOptions: { url: process.env.HOLDFAST, decimals: 2, background: false },
      pathToMigrations: [join(home, "node_modules/@medusajs/inventory/dist/migrations"), join(home, "dist/migrations")]
    })
};
