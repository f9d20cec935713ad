import type { ErrorKind } from "./error-kinds.ts";

/**
 * What may break between a person and an answer, and what they read then: what happened, what it means, what to do.
 * The one table of it, for server and sidecar: whoever meets such a fault at the edge says it by its name here, and
 * keeps the details for the log.
 */
export const causes = {
  "database-away": {
    kind: "unavailable",
    message:
      "Dormouse cannot reach its database, so nothing can be read or saved right now. What is saved is safe. Try again in a moment. If this goes on, an admin has to check that the database is running.",
  },
  "database-late": {
    kind: "timeout",
    message: "The database took too long to answer, so this was given up. Try again in a moment.",
  },
  "database-full": {
    kind: "unavailable",
    message: "The database has no space left, so nothing can be saved. An admin has to free space on its disk.",
  },

  "sandbox-away": {
    kind: "unavailable",
    message:
      "The sandbox cannot be reached. Its files are kept. Try again in a moment; if it has stopped, your next message starts it.",
  },
  "sandbox-late": {
    kind: "timeout",
    message: "The sandbox did not answer in time. It may be very busy. Its files are kept. Try again in a moment.",
  },
  "sandbox-ended": {
    kind: "unavailable",
    message: "The sandbox ended unexpectedly. Its files are kept. Send your message again: that starts the sandbox.",
  },
  "sandbox-silent": {
    kind: "unavailable",
    message:
      "The sandbox stopped answering and was ended. Its files are kept. Send your message again: that starts the sandbox.",
  },
  "sandbox-start": {
    kind: "unavailable",
    message:
      "The sandbox does not start, so the agent cannot answer. Try again in a moment. If this goes on, an admin finds the reason in the server's log.",
  },
  "sandbox-start-late": {
    kind: "timeout",
    message:
      "The sandbox was not ready in time. This machine may be very busy. Try again in a moment. If this goes on, an admin finds the reason in the server's log.",
  },
  "sandbox-answer": {
    kind: "upstream",
    message:
      "The answer of the sandbox came damaged or incomplete and was not used. Try again. If this goes on, an admin finds the reason in the server's log.",
  },
  "sandbox-failed": {
    kind: "internal",
    message:
      "Something went wrong in the sandbox. Its files are kept. Try again. If this goes on, an admin finds the reason in the sandbox's log.",
  },
  "sandbox-refused": {
    kind: "upstream",
    message:
      "The sandbox did not accept what the server asked of it. An admin should check that the clocks of server and sandbox agree; the server's log says more.",
  },
  "sandbox-version": {
    kind: "upstream",
    message:
      "This sandbox was started by another version of Dormouse, so this one cannot use it. An admin can end it by restarting Dormouse.",
  },
  "server-away": {
    kind: "unavailable",
    message: "The sandbox cannot reach the Dormouse server, which may be restarting. Try again in a moment.",
  },

  "agent-away": {
    kind: "unavailable",
    message:
      "The agent broke off before it answered. Its files are kept. Try again in a moment; if it has ended, it is started again.",
  },
  "agent-late": {
    kind: "timeout",
    message: "The agent did not answer in time. Its files are kept. Try again in a moment.",
  },
  "agent-unstopped": {
    kind: "unavailable",
    message:
      "The agent does not answer, and may still be working on what was stopped. Its files are kept. Try again in a moment.",
  },
  "agent-starting": {
    kind: "unavailable",
    message: "The agent is being started. Try again in a moment.",
  },
  "agent-frozen": {
    kind: "unavailable",
    message: "The agent is on hold while its sandbox is being saved. Try again in a moment.",
  },
  "agent-start": {
    kind: "unavailable",
    message:
      "The agent does not start, so it cannot answer. Its files are kept. Try again in a moment. If this goes on, an admin finds the reason in the sandbox's log.",
  },
  "agent-start-late": {
    kind: "timeout",
    message:
      "The agent did not start in time. This machine may be very busy. Try again in a moment. If this goes on, an admin finds the reason in the sandbox's log.",
  },
  "agent-ended": {
    kind: "unavailable",
    message:
      "The agent ended unexpectedly before its answer was complete. Changes made so far are kept. Send your message again: that starts the agent.",
  },
  "agent-incomplete": {
    kind: "upstream",
    message: "The agent stopped before its answer was complete. Changes made so far are kept. Send your message again.",
  },
  "agent-forgot": {
    kind: "upstream",
    message: "The agent no longer knows this message. Changes made so far are kept. Send your message again.",
  },
  "agent-lost": {
    kind: "unavailable",
    message:
      "Dormouse lost sight of the agent, so the answer may be incomplete. Changes made so far are kept. Send your message again.",
  },
  "agent-answer": {
    kind: "upstream",
    message:
      "The agent's answer could not be read, so it was not used. Try again. If this goes on, an admin finds the reason in the server's log.",
  },

  "access-disabled": {
    kind: "unauthenticated",
    message:
      "The account of this session's person is disabled, so the agent may not use a model. An admin can enable the account under Admin → People.",
  },
  "access-expired": {
    kind: "unauthenticated",
    message:
      "The sandbox's access to models has expired. It is renewed when the sandbox starts; an admin can bring that about by restarting Dormouse.",
  },
  "access-ended": {
    kind: "unauthenticated",
    message:
      "The sandbox's access to models was withdrawn. It gets a new one when it starts; an admin can bring that about by restarting Dormouse.",
  },

  "store-away": {
    kind: "unavailable",
    message:
      "The file store cannot be reached, so snapshots can be neither saved nor restored right now. Files in the sandbox are kept. Try again in a moment. If this goes on, an admin has to check the file store.",
  },
  "store-late": {
    kind: "unavailable",
    message:
      "The file store did not answer in time, so this was given up. Files in the sandbox are kept. Try again in a moment.",
  },
  "store-full": {
    kind: "unavailable",
    message:
      "The file store is full, so nothing more can be saved there. Files in the sandbox are kept. An admin has to free space.",
  },
  "store-refused": {
    kind: "unavailable",
    message:
      "The file store refuses the server's credentials, so snapshots can be neither saved nor restored. An admin has to correct them.",
  },
  "store-missing": {
    kind: "unavailable",
    message:
      "The file store's bucket or folder does not exist, so snapshots can be neither saved nor restored. An admin has to check its settings.",
  },
  "store-damaged": {
    kind: "upstream",
    message:
      "The file store returned other bytes than were saved there, so they were not used. An admin has to check the file store.",
  },

  "store-failed": {
    kind: "upstream",
    message:
      "The file store refused a request, so a snapshot was not saved or restored. Files in the sandbox are kept. An admin finds the reason in the server's log.",
  },

  internal: {
    kind: "internal",
    message:
      "Something went wrong in Dormouse itself. What you wrote is kept. Try again. If this goes on, an admin finds the reason in the server's log.",
  },
} as const satisfies Record<string, { kind: ErrorKind; message: string }>;

export type CauseName = keyof typeof causes;

/** For what is tried again by itself: without what a person would have to do. */
export function withoutAdvice(message: string): string {
  const sentences = message.split(/(?<=\.) /);
  return sentences.filter((sentence) => !/^(Try|Send your message) again\b/.test(sentence)).join(" ");
}

/** Marks an error in a provider's shape as one of Dormouse's own: its words need no others. */
export const ownProblems = "dormouse";

/** What an answer of a model's provider means that is not one. `said` are its own words, which are shown beside. */
export function providerCause(status: number, said: string): string {
  const words = said.replace(/[.\s]+$/, "");
  return words ? `${meaningOf(status)} It said: “${words}”.` : meaningOf(status);
}

function meaningOf(status: number): string {
  if (status === 401 || status === 403) {
    return "The model's provider refused the key. Check the provider's key in Settings → Models, then send your message again.";
  }
  if (status === 402)
    return "The model's provider wants to be paid first. Check the account there, or choose another model.";
  if (status === 404) {
    return "The model's provider does not know this model. Choose another model, or check the provider's address in Settings → Models.";
  }
  if (status === 429) {
    return "The model's provider is limiting requests, or the quota is used up. Send your message again later, or choose another model.";
  }
  if (status >= 500) {
    return "The model's provider has a problem of its own. Send your message again in a moment, or choose another model.";
  }
  return "The model's provider did not accept the request. Choose another model, or check the provider in Settings → Models.";
}
