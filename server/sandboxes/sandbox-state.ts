export const sandboxStates = ["provisioning", "running", "sleeping", "failed", "terminated"] as const;
export type SandboxState = (typeof sandboxStates)[number];

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
