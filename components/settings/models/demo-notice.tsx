import { Notice } from "../../ui/notice.tsx";

/** Nobody should mistake the demo for a model. */
export function DemoNotice({ wayOut }: { wayOut: string }) {
  return (
    <Notice title="The demo model answers">
      It is a script inside Dormouse: it works offline and costs nothing, follows a fixed story and understands nothing.
      It is there to show how files, diffs, sleep and wake work. {wayOut}
    </Notice>
  );
}
