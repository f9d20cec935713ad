/** What a sandbox was last seen to be, and what is wanted of it. Which may follow which: server/sandboxes/sandbox-state.ts. */
export const sandboxStates = ["provisioning", "running", "sleeping", "failed", "terminated"] as const;
export type SandboxState = (typeof sandboxStates)[number];

declare const addressBrand: unique symbol;

/**
 * Where a sandbox is: JSON that the backend which made it needs to find it again, kept on the sandbox row. Nobody
 * else makes one or looks into it.
 */
export type SandboxAddress = { readonly [addressBrand]: "SandboxAddress" };
