import Link from "next/link";
import { MessagePage } from "./message-page.tsx";
import { buttonClasses } from "./ui/button.tsx";

export function NotFoundMessage() {
  return (
    <MessagePage
      title="There is nothing here"
      action={
        <Link href="/" className={buttonClasses({ look: "primary", size: "large" })}>
          Go to the start page
        </Link>
      }
    >
      The address may be wrong, or this page was deleted or belongs to somebody else.
    </MessagePage>
  );
}
