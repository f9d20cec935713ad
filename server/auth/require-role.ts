import { AppError } from "../errors.ts";
import type { Role } from "../protocol/roles.ts";
import type { Viewer } from "./actor.ts";

export function requireRole(viewer: Viewer, role: Role): void {
  if (role === "admin" && viewer.role !== "admin") throw new AppError("forbidden", "Only an admin may do that.");
}
