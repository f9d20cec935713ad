import type { Role } from "./roles.ts";

export interface Person {
  id: string;
  email: string;
  name: string;
  role: Role;
  createdAt: Date;
  disabledAt: Date | null;
  lastSeenAt: Date | null;
}

export interface Invite {
  id: string;
  role: Role;
  note: string;
  createdAt: Date;
  expiresAt: Date;
  state: "open" | "used" | "expired" | "revoked";
}

export interface SignedInDevice {
  id: string;
  userAgent: string;
  clientAddress: string;
  createdAt: Date;
  lastSeenAt: Date;
  current: boolean;
}
