import type { Metadata } from "next";
import { ModelSettings } from "@/components/settings/models/model-settings.tsx";
import { ModelSummary } from "@/components/settings/models/model-summary.tsx";
import { pageUser } from "@/server/auth/require-user.ts";
import { services } from "@/server/services.ts";
import * as actions from "./actions.ts";

export const metadata: Metadata = { title: "Models" };

export default async function ModelsPage() {
  const viewer = await pageUser();
  const settings = await services().models.settings(viewer);
  if (viewer.role !== "admin") return <ModelSummary {...settings} />;
  const { addProvider, updateProvider, removeProvider, testProvider } = actions;
  const { chooseModels, changeModel, chooseDefault, choosePermissions } = actions;
  return (
    <ModelSettings
      {...settings}
      actions={{
        addProvider,
        updateProvider,
        removeProvider,
        testProvider,
        chooseModels,
        changeModel,
        chooseDefault,
        choosePermissions,
      }}
    />
  );
}
