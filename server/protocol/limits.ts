/** Limits that more than one of server, sidecar and pages must agree on. Lengths are in characters. */
export const maxPromptBytes = 256 * 1024;
/** What may wait in one session; `start_turn` knows the same figures. */
export const queueLimits = { maxTurns: 50, maxBytes: 4 * 1024 * 1024 } as const;
/** Of what waits, a session's state shows so many turns, with so many characters of each. */
export const queueHead = { turns: 10, characters: 400 } as const;
/** By one connection. */
export const maxFollowedSessions = 50;
export const maxAnswerLength = 10_000;
export const maxTitleLength = 200;

export const maxNameLength = 100;
export const maxEmailLength = 254;
export const minPasswordLength = 12;
export const maxPasswordLength = 200;
export const maxInviteNoteLength = 200;

export const maxProviderNameLength = 60;
export const maxProviderKeyLength = 500;
export const maxModelIdLength = 200;

export const tooLongPrompt = (size: string) =>
  `This message is ${size}. The limit is ${maxPromptBytes / 1024} KB. Put long text in a file and ask the agent to read it.`;

/** Of every file system that sandboxes have. */
export const maxFileNameBytes = 255;
export const tooLongFileName = `This name is too long. The limit is ${maxFileNameBytes} bytes.`;

/** Of one workspace, unpacked: what a snapshot takes and a restore accepts. */
export const workspaceLimits = { maxBytes: 4 * 1024 ** 3, maxEntries: 500_000 } as const;

/**
 * How often a stream in which nothing happens says that it lives. A reader that heard nothing for three times as
 * long takes the connection for lost.
 */
export const heartbeatMilliseconds = { sidecar: 10_000, browser: 15_000 } as const;

/** When a sandbox may sleep by itself. */
export const maxIdleMinutes = 30 * 24 * 60;
export const maxKeepAwakeHours = 7 * 24;
