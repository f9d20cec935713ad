import { Notice } from "../../ui/notice.tsx";

/** Nobody should mistake the demo for a model. */
export function DemoNotice({ wayOut }: { wayOut: string }) {
  return (
    <Notice title="The demo model is in use">
      It is a fixed script built into Dormouse, not a real model. It works offline, costs nothing and shows how files,
      diffs, sleep and wake work. {wayOut}
    </Notice>
  );
}
