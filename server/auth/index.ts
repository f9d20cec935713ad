export type { Actor, Viewer } from "./actor.ts";
export type { Admission } from "./admission.ts";
export { requireRole } from "./require-role.ts";
