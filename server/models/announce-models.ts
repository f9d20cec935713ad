import type { Models } from "./index.ts";

/** Tells of every change that may alter what an agent has to know; telling twice is harmless. */
export function announceModels(models: Models, onChanged: (tenantId: string) => void): Models {
  const announced = <Arguments extends [{ tenantId: string }, ...unknown[]], Result>(
    change: (...parameters: Arguments) => Promise<Result>,
  ) => {
    return async (...parameters: Arguments): Promise<Result> => {
      const result = await change(...parameters);
      onChanged(parameters[0].tenantId);
      return result;
    };
  };
  return {
    ...models,
    addProvider: announced(models.addProvider),
    updateProvider: announced(models.updateProvider),
    removeProvider: announced(models.removeProvider),
    testProvider: announced(models.testProvider),
    chooseModels: announced(models.chooseModels),
    changeModel: announced(models.changeModel),
    chooseDefault: announced(models.chooseDefault),
    choosePermissions: announced(models.choosePermissions),
  };
}
