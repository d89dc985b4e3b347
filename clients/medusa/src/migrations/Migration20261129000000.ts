import { Migration } from "@medusajs/framework/mikro-orm/migrations";

/** What this module remembers beside Medusa's tables: see journal.ts. */
export class Migration20261129000000 extends Migration {
  override async up(): Promise<void> {
    this.addSql("create table if not exists holdfast_order (reservation_id text primary key, number integer not null)");
    this.addSql(
      "create table if not exists holdfast_unsettled (n bigint generated always as identity primary key, " +
        "reservation_id text not null, order_id text not null, noted_at timestamptz not null default clock_timestamp())"
    );
    this.addSql("create table if not exists holdfast_state (name text primary key, value text not null)");
  }

  override async down(): Promise<void> {
    this.addSql("drop table if exists holdfast_order, holdfast_unsettled, holdfast_state");
  }
}
