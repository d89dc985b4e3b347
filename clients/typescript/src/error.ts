import type { components } from "./contract.js";

/**
 * A code of the contract, or one of the client's own. `no_answer`: no try brought an answer. `bad_answer`: it is no
 * Holdfast that answers. `bad_signature`: what a receiver got is no delivery.
 */
export type Code = components["schemas"]["Code"] | "no_answer" | "bad_answer" | "bad_signature";

/** A line at fault. Its members depend on the code: `short` has `requested` and `available`, say. */
export interface ProblemLine {
  sku: string;
  location?: string;
  locations?: string[];
  requested?: number;
  available?: number;
  [member: string]: unknown;
}

interface About {
  /** The status of the answer, or 0. */
  status: number;
  /** The whole refusal: with `results` of an atomic call, and `reservation` of an order that is over. */
  problem: { [member: string]: unknown };
  /** The order of this id is over: it was released, replaced or has expired. */
  replayed: boolean;
  /** How long the service asks to wait, in seconds. */
  retryAfterS: number | undefined;
  /** How often the call was sent. */
  tries: number;
  /** True: the call may have had its effect, though no answer said so. Send it again, with the same id. */
  maybeDone: boolean;
  /** The body as it was sent, with the ids that the client made. */
  sent: unknown;
  /** The X-Request-Id of the last try, which the service's log has. */
  requestId: string | undefined;
}

export interface HoldfastError extends About {}

/** What a call throws, but for the reason of the caller's own signal. Act on `code`, which never changes. */
export class HoldfastError extends Error {
  override readonly name = "HoldfastError";
  readonly lines: ProblemLine[];
  /** The member of the request that is at fault. */
  readonly field: string | undefined;

  constructor(readonly code: Code, detail: string, { cause, ...about }: Partial<About> & { cause?: unknown } = {}) {
    super(`${code}: ${detail}`, cause === undefined ? {} : { cause });
    Object.assign(this, { status: 0, problem: {}, replayed: false, tries: 0, maybeDone: false }, about);
    this.lines = Array.isArray(this.problem["lines"]) ? this.problem["lines"] : [];
    this.field = this.problem["field"] as string | undefined;
  }
}
