import { existsSync } from "node:fs";
import { join } from "node:path";
import { ContainerRegistrationKeys, MedusaError, Module, Modules, ModulesSdkUtils } from "@medusajs/framework/utils";
import service from "./service";

export { type ModuleOptions } from "./base";

/** Medusa's migrations, as they are in the version that is installed, and then this module's own. */
const folders = [join(require.resolve("@medusajs/inventory"), "../migrations"), join(__dirname, "migrations")];
const scripts = (pathToMigrations: string) => ({ moduleName: Modules.INVENTORY, pathToMigrations, models: {} });

/** Refuses a start with other decimals than those of the first start: units in Holdfast would mean something else. */
async function sameDecimals({ container, options }: any): Promise<void> {
  const pg = container.resolve(ContainerRegistrationKeys.PG_CONNECTION);
  const [known] = (await pg.raw("select value from holdfast_state where name = 'decimals'")).rows;
  const decimals = String(options.decimals ?? 0);
  if (known?.value && known.value !== decimals)
    throw new MedusaError(
      MedusaError.Types.INVALID_DATA,
      `decimals: ${decimals} is not ${known.value}, with which this shop was begun`
    );
}

async function runMigrations(options: any): Promise<unknown[]> {
  const done: unknown[] = [];
  for (const folder of folders)
    done.push(...((await ModulesSdkUtils.buildMigrationScript(scripts(folder))(options)) as unknown[]));
  return done;
}

async function revertMigration(options: any): Promise<void> {
  for (const folder of [...folders].reverse()) {
    const migrationNames = options.migrationNames?.filter((name: string) => existsSync(join(folder, `${name}.js`)));
    if (migrationNames?.length !== 0)
      await (ModulesSdkUtils.buildRevertMigrationScript(scripts(folder)) as any)({ ...options, migrationNames });
  }
}

export default { ...Module(Modules.INVENTORY, { service, loaders: [sameDecimals] }), runMigrations, revertMigration };
