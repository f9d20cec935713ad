import type { SandboxState } from "../protocol/sandbox.ts";

const nextStates: Record<SandboxState, readonly SandboxState[]> = {
  provisioning: ["running", "sleeping", "failed", "terminated"],
  running: ["sleeping", "provisioning", "failed", "terminated"],
  sleeping: ["provisioning", "terminated"],
  failed: ["provisioning", "sleeping", "terminated"],
  terminated: ["provisioning"],
};

export function mayBecome(from: SandboxState, to: SandboxState): boolean {
  return nextStates[from].includes(to);
}
