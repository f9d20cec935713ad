import type { Viewer } from "../auth/index.ts";
import type { Invite, Person, SignedInDevice } from "../protocol/account-views.ts";
import type { Role } from "../protocol/roles.ts";

export interface FirstRun {
  isolation: IsolationFound;
}

/** `sandboxed` is proved by a probe run; otherwise `reason` says what failed, for the consent text. */
export type IsolationFound = { kind: "sandboxed"; detail: string } | { kind: "host"; reason: string };

export interface FirstRunInput {
  tenantName: string;
  name: string;
  email: string;
  password: string;
  setupCode: string;
  /** Needed, as true, when the isolation found is `host`. */
  hostConsent?: boolean | undefined;
  clientAddress: string;
}

/** People of a tenant. Every method checks the caller's role itself and throws AppErrors. */
export interface Accounts {
  /** Null once a tenant exists. */
  firstRun(): Promise<FirstRun | null>;
  /** Exactly once, also under a race: the loser gets `conflict`. */
  completeFirstRun(input: FirstRunInput): Promise<void>;

  /** Admin. `url` is shown once; only a hash is kept. */
  createInvite(viewer: Viewer, input: { role: Role; note: string }): Promise<{ url: string; invite: Invite }>;
  listInvites(viewer: Viewer): Promise<Invite[]>;
  revokeInvite(viewer: Viewer, inviteId: string): Promise<void>;
  /** Null when unknown; `state` tells open from used, expired, revoked. */
  findInvite(token: string): Promise<{ tenantName: string; role: Role; state: Invite["state"] } | null>;
  /** Throws `conflict` when the invite is used up or the email is taken, `not-found` when unknown. */
  acceptInvite(input: {
    token: string;
    name: string;
    email: string;
    password: string;
    clientAddress: string;
  }): Promise<void>;

  listPeople(viewer: Viewer): Promise<Person[]>;
  /** Ends the person's auth sessions at once. Nobody can disable themselves. */
  disablePerson(viewer: Viewer, userId: string): Promise<void>;
  enablePerson(viewer: Viewer, userId: string): Promise<void>;

  updateProfile(viewer: Viewer, input: { name: string }): Promise<void>;
  /** Ends the person's other auth sessions. */
  changePassword(viewer: Viewer, input: { current: string; next: string }): Promise<void>;
  listDevices(viewer: Viewer): Promise<SignedInDevice[]>;
  revokeDevice(viewer: Viewer, authSessionId: string): Promise<void>;
}
