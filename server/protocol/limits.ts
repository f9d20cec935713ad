/** Limits that more than one of server, sidecar and pages must agree on. In characters unless the name says otherwise. */

export const maxPromptBytes = 256 * 1024;
export const maxTitleLength = 200;

export const accountLimits = {
  minPassword: 12,
  maxPassword: 200,
  maxName: 100,
  maxEmail: 254,
  maxInviteNote: 200,
} as const;

export const providerLimits = { maxName: 60, maxKey: 500, maxModelId: 200 } as const;

/** Of one workspace, unpacked: what a snapshot takes and a restore accepts. */
export const workspaceLimits = { maxBytes: 4 * 1024 ** 3, maxEntries: 500_000 } as const;

/**
 * How often a stream in which nothing happens says that it lives. A reader that heard nothing for three times as
 * long takes the connection for lost.
 */
export const heartbeatMilliseconds = { sidecar: 10_000, browser: 15_000 } as const;
