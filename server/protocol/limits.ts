/** How much people may give: pages say it while they type, the server refuses what is more. Lengths are in characters. */
export const maxPromptBytes = 256 * 1024;
export const maxAnswerLength = 10_000;
export const maxTitleLength = 200;

export const maxNameLength = 100;
export const maxEmailLength = 254;
export const minPasswordLength = 12;
export const maxPasswordLength = 200;
export const maxInviteNoteLength = 200;

export const maxProviderNameLength = 60;
export const maxProviderKeyLength = 500;

export const tooLongPrompt = (size: string) =>
  `This message is ${size}. The limit is ${maxPromptBytes / 1024} KB. Put long text in a file and ask the agent to read it.`;
