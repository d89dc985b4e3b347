// Runs Medusa's own specs of its inventory module, unchanged, against this module.
//   node test/specs/run.js DIR [NAME]
// DIR has them, at any depth: packages/modules/inventory/integration-tests of a clone of github.com/medusajs/medusa.
// They are in no package of npm. NAME runs those with this text in their file's name.
"use strict";
const { execFileSync, spawnSync } = require("node:child_process");
const { existsSync, readdirSync } = require("node:fs");
const { basename, join, resolve } = require("node:path");
const { missing, withServices } = require("../services");

const home = resolve(__dirname, "../..");
const tools = [
  "jest@29.7.0",
  "@swc/core@1.7.28",
  "@swc/jest@0.2.36",
  "@medusajs/test-utils@2.21.2",
  "@medusajs/cli@2.21.2"
];

async function main(folder, name = "") {
  const specs = folder
    ? readdirSync(folder, { recursive: true })
        .filter(file => file.endsWith(".spec.ts") && file.includes(name))
        .sort()
    : [];
  if (!specs.length) {
    console.error("usage: make medusa SPECS=DIR, where DIR has the specs of Medusa's inventory module (*.spec.ts)");
    return 64;
  }
  const lacks = missing();
  if (lacks) {
    console.error(`Medusa's specs take ${lacks}`);
    return 1;
  }
  if (!existsSync(join(home, "node_modules/jest")))
    execFileSync("npm", ["install", "--no-save", "--no-package-lock", "--ignore-scripts", ...tools], {
      cwd: home,
      stdio: "inherit"
    });
  return await withServices(async ({ postgres, holdfast }) => {
    const env = {
      ...process.env,
      HOLDFAST: holdfast.url,
      DB_HOST: "127.0.0.1",
      DB_PORT: String(postgres.port),
      DB_USERNAME: "postgres",
      NODE_OPTIONS: "--experimental-vm-modules --no-warnings"
    };
    let failed = 0;
    for (const spec of specs) {
      const config = { ...jest, rootDir: home, roots: [resolve(folder)], testMatch: [join(resolve(folder), spec)] };
      const program = [join(home, "node_modules/jest/bin/jest.js"), "--runInBand", "--forceExit"];
      const { status } = spawnSync(process.execPath, [...program, "--config", JSON.stringify(config)], {
        cwd: home,
        env,
        stdio: "inherit"
      });
      if (status !== 0) failed = 1;
      console.log(`${basename(spec)}: audit: ${holdfast.audit().trim().split("\n").pop()}`);
    }
    return failed;
  });
}

const jest = {
  transform: {
    "^.+\\.ts$": [
      join(home, "node_modules/@swc/jest"),
      { jsc: { parser: { syntax: "typescript", decorators: true }, target: "es2022" } }
    ]
  },
  modulePaths: [join(home, "node_modules")],
  moduleNameMapper: {
    "^@medusajs/medusa/link-modules$": join(home, "node_modules/@medusajs/link-modules"),
    "^@medusajs/test-utils$": join(__dirname, "test-utils.js"),
    "^\\.\\./\\.\\./src/services$": join(__dirname, "services.js")
  },
  testEnvironment: "node"
};

main(...process.argv.slice(2)).then(status => process.exit(status));
