export * from "./installation.ts";
export * from "./people.ts";
export * from "./sandboxes.ts";
export * from "./sessions.ts";
