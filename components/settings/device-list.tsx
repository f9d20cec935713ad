"use client";

import { toast } from "sonner";
import type { SignedInDevice } from "@/server/protocol/account-views.ts";
import { Badge } from "../ui/badge.tsx";
import { ConfirmButton } from "../ui/confirm-button.tsx";
import type { Outcome } from "../ui/outcome.ts";
import { Time } from "../ui/time.tsx";
import { describeDevice } from "./describe-device.ts";

export function DeviceList({ devices, end }: { devices: SignedInDevice[]; end: (id: string) => Promise<Outcome> }) {
  return (
    <ul className="divide-y divide-line rounded-card border border-line bg-raised">
      {devices.map((device) => (
        <li key={device.id} className="flex min-h-14 items-center gap-4 px-5 py-2.5">
          <div className="min-w-0 flex-1">
            <p className="flex flex-wrap items-center gap-2 text-13 font-medium">
              {describeDevice(device.userAgent)}
              {device.current && <Badge>This device</Badge>}
            </p>
            <p className="text-12 text-muted">
              <span className="font-mono">{device.clientAddress}</span> · last seen <Time at={device.lastSeenAt} /> ·
              signed in <Time at={device.createdAt} />
            </p>
          </div>
          {!device.current && (
            <ConfirmButton
              label={`Sign out of ${describeDevice(device.userAgent)}`}
              title="Sign out of this device?"
              consequence={`${describeDevice(device.userAgent)} at ${device.clientAddress} will have to sign in again. Nothing else is lost.`}
              confirmLabel="Sign out"
              look="secondary"
              confirm={() => end(device.id)}
              onDone={() => toast.success("The device is signed out.")}
            >
              Sign out
            </ConfirmButton>
          )}
        </li>
      ))}
    </ul>
  );
}
