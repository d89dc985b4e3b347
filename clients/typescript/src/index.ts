import type { components } from "./contract.js";

export { type Answer, type Ask, type Calls, List, type Options } from "./calls.js";
export { Holdfast, type Settings } from "./client.js";
export { type Code, HoldfastError, type ProblemLine } from "./error.js";
export { type Event, type NodeRequest, Receiver } from "./receiver.js";
export type { components, operations, paths } from "./contract.js";

export type Reservation = components["schemas"]["Reservation"];
export type Movement = components["schemas"]["Movement"];
