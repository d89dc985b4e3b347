"use strict";
module.exports = { InventoryModuleService: require("../../dist/service").default };
