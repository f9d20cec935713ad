import { Mark } from "@/components/mark.tsx";
import { DemoRemark } from "@/components/session/demo-remark.tsx";
import { NewSessionComposer } from "@/components/session/new-session-composer.tsx";
import { pageUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";
import { createSession } from "./actions.ts";

export default async function HomePage() {
  const viewer = await pageUser();
  const { defaultModel } = await services().models.settings(viewer);
  return (
    <div className="mx-auto flex w-full max-w-120 flex-1 flex-col items-start justify-center gap-6 px-5 py-12">
      <Mark uncurl className="size-14" />
      <div className="flex flex-col gap-2">
        <h1 className="text-28">Hello, {viewer.name}</h1>
        <p className="text-15 text-muted">
          A session is one conversation with the agent, with files of its own. It sleeps when you leave and wakes with
          nothing lost.
        </p>
      </div>
      <div className="flex w-full flex-col gap-3">
        <NewSessionComposer create={createSession} draft={`new-${viewer.userId}`} />
        {!defaultModel && <DemoRemark role={viewer.role} />}
      </div>
    </div>
  );
}
