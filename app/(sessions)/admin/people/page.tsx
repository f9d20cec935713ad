import type { Metadata } from "next";
import { InviteButton } from "@/components/admin/invite-button.tsx";
import { InviteTable } from "@/components/admin/invite-table.tsx";
import { PeopleTable } from "@/components/admin/people-table.tsx";
import { EmptyState } from "@/components/ui/empty-state.tsx";
import { Section } from "@/components/ui/section.tsx";
import { pageAdmin } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";
import { createInvite, disablePerson, enablePerson, revokeInvite } from "./actions.ts";

export const metadata: Metadata = { title: "People" };

export default async function PeoplePage() {
  const viewer = await pageAdmin();
  const { accounts } = services();
  const [people, invites] = await Promise.all([accounts.listPeople(viewer), accounts.listInvites(viewer)]);
  return (
    <div className="flex flex-col gap-10">
      <Section title="People" description={`Everybody who can sign in to ${viewer.tenantName}.`}>
        <PeopleTable people={people} ownId={viewer.userId} disable={disablePerson} enable={enablePerson} />
      </Section>
      <Section
        title="Invites"
        description="A link that creates one account. It works once and expires after seven days."
        aside={<InviteButton create={createInvite} />}
      >
        {invites.length > 0 ? (
          <InviteTable invites={invites} revoke={revokeInvite} />
        ) : (
          <EmptyState title="No invites yet">Create one and send its link to the person you want to join.</EmptyState>
        )}
      </Section>
    </div>
  );
}
