import { type BigNumberInput } from "@medusajs/framework/types";
import { BigNumber, MathBN, MedusaError } from "@medusajs/framework/utils";

/** The most units of one line of Holdfast. */
const LINE_MAX = 1e12;

/**
 * Medusa's quantities may have decimals. Holdfast's units are whole: with `decimals` 2, a quantity of 1 is 100 units.
 */
export class Units {
  readonly #scale: number;

  constructor(decimals: number) {
    if (!Number.isInteger(decimals) || decimals < 0 || decimals > 6)
      throw new MedusaError(MedusaError.Types.INVALID_DATA, `decimals: ${decimals} is not one of 0 to 6`);
    this.#scale = 10 ** decimals;
  }

  /** The units of a quantity. What cannot be written in whole units, or has more than a line may have, is refused. */
  of(quantity: BigNumberInput, name: string): number {
    const units = MathBN.mult(quantity, this.#scale);
    if (!units.isInteger())
      throw refusal(
        `${name} ${MathBN.convert(quantity)} is no multiple of ${1 / this.#scale}, the smallest that the option ` +
          "`decimals` of the inventory module allows"
      );
    if (units.abs().gt(LINE_MAX))
      throw refusal(`${name} ${MathBN.convert(quantity)} is more than ${LINE_MAX / this.#scale}`);
    return units.toNumber();
  }

  /** The same, of a quantity that has to be 0 or more. */
  notBelowZero(quantity: BigNumberInput, name: string): number {
    const units = this.of(quantity, name);
    if (units < 0)
      throw refusal(`${name} ${MathBN.convert(quantity)} is below 0: units that are not there cannot be counted`);
    return units;
  }

  /** The quantity of so many units. */
  quantity(units: number): BigNumber {
    return new BigNumber(MathBN.div(units, this.#scale));
  }
}

function refusal(text: string): MedusaError {
  return new MedusaError(MedusaError.Types.INVALID_DATA, text);
}
