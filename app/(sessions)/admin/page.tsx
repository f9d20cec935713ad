import { redirect } from "next/navigation";
import { pageAdmin } from "@/server/auth/require-user.ts";

export default async function AdminPage() {
  await pageAdmin();
  redirect("/admin/sandboxes");
}
