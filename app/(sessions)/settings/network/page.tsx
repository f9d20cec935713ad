import type { Metadata } from "next";
import { NetworkForm } from "@/components/settings/network/network-form.tsx";
import { NetworkSummary, ServerBound } from "@/components/settings/network/network-summary.tsx";
import { Section } from "@/components/ui/section.tsx";
import { pageUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";
import { chooseNetwork } from "./actions.ts";

export const metadata: Metadata = { title: "Network" };

export default async function NetworkPage() {
  const viewer = await pageUser();
  const { rule, hosts, server } = await services().network.settings(viewer);
  const isAdmin = viewer.role === "admin";
  return (
    <Section
      title="Internet access"
      description={
        isAdmin
          ? "What agents and their commands can reach from a sandbox. Model calls are not affected."
          : "What your agents can reach from a sandbox. An admin decides."
      }
    >
      <ServerBound {...server} />
      {isAdmin ? (
        <NetworkForm rule={rule} hosts={hosts} save={chooseNetwork} />
      ) : (
        <NetworkSummary rule={rule} hosts={hosts} />
      )}
    </Section>
  );
}
