// Medusa's own models. Its loader looks for models in this folder, in files that are not called index.
export { InventoryItem, InventoryLevel, ReservationItem } from "@medusajs/inventory/dist/models";
