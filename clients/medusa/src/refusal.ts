import { MedusaError } from "@medusajs/framework/utils";
import { HoldfastError } from "holdfast";

/** What Medusa tells its caller where Holdfast refuses. An outage is an unexpected state. */
export function refused(error: unknown): unknown {
  if (!(error instanceof HoldfastError)) return error;
  const { Types } = MedusaError;
  if (error.status === 400 || error.status === 422)
    return new MedusaError(Types.INVALID_DATA, `Holdfast: ${error.message}`);
  if (error.status === 409) return new MedusaError(Types.NOT_ALLOWED, `Holdfast: ${error.message}`);
  return new MedusaError(Types.UNEXPECTED_STATE, `Holdfast: ${error.message}`);
}

/** In the words of Medusa's own module. */
export function notEnough(sku: string, location: string): MedusaError {
  return new MedusaError(
    MedusaError.Types.NOT_ALLOWED,
    `Not enough stock available for item ${sku} at location ${location}`
  );
}

export function isCode(error: unknown, ...codes: string[]): error is HoldfastError {
  return error instanceof HoldfastError && codes.includes(error.code);
}

/** A list in parts of at most `size`. */
export function parts<T>(list: T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size));
}
