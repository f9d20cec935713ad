import type { Metadata } from "next";
import { DeviceList } from "@/components/settings/device-list.tsx";
import { PasswordForm } from "@/components/settings/password-form.tsx";
import { ProfileForm } from "@/components/settings/profile-form.tsx";
import { ThemeChoice } from "@/components/settings/theme-choice.tsx";
import { Card, Section } from "@/components/ui/section.tsx";
import { pageUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";
import { changePassword, endDevice, updateProfile } from "./actions.ts";

export const metadata: Metadata = { title: "Profile" };

export default async function ProfilePage() {
  const viewer = await pageUser();
  const devices = await services().accounts.listDevices(viewer);
  return (
    <div className="flex flex-col gap-10">
      <Section title="You" description={`${viewer.email} · ${viewer.role} of ${viewer.tenantName}`}>
        <Card>
          <ProfileForm name={viewer.name} save={updateProfile} />
        </Card>
      </Section>
      <Section title="Appearance" description="Kept in this browser.">
        <ThemeChoice />
      </Section>
      <Section title="Password" description="Changing it signs you out on every other device.">
        <Card>
          <PasswordForm email={viewer.email} change={changePassword} />
        </Card>
      </Section>
      <Section title="Signed-in devices" description="Sign out of any you do not recognise or no longer use.">
        <DeviceList devices={devices} end={endDevice} />
      </Section>
    </div>
  );
}
